// SPDX-License-Identifier: Apache-2.0
// core/support: what a program hands its user, stdout and files, of which nothing gets lost without a word.
#pragma once

#include <string>
#include <string_view>

#include "core/support/status.hpp"

namespace optima {

/// How a user names stdout where a file is wanted.
inline constexpr std::string_view kStdout = "-";
/// True for "-" and for the names that Linux gives to stdout.
bool names_stdout(std::string_view path);

/// Writes text to stdout at once. What cannot be written is remembered for out_status(), and after it nothing more is tried. Any thread.
void put_out(std::string_view text);
/// Remembers output that was lost elsewhere (a log); the first counts. Any thread.
void lost_output(const Status& why);
/// Remembers a failure that nobody is left to be told of, of a destructor; the first makes finish_program() fail. Any thread.
void fail_at_end(const Status& why);
/// Ok when everything so far arrived; else Io with what was lost and why.
Status out_status();

/// Writes a file that a user named: "-" is stdout, "~" is the home folder, symbolic links are followed. A regular file is created or
/// replaced as write_file() does it, at the end of its links. Anything else (a device, a FIFO) stays what it is and gets the bytes; so does
/// what stdout or stderr is already open on. Io when not all of the bytes could be written.
Status write_output(const std::string& path, std::string_view bytes);

/// Gives a process that was started without stdin, stdout or stderr something in their place, so that no file that it opens is taken for
/// one of them; writing to such a stdout fails. For the beginning of main().
void hold_standard_files();

/// Keeps stdout for put_out() and write_output() alone: from here on whatever else in the process writes to it writes to stderr. After
/// hold_standard_files(), before there are threads.
void keep_stdout();

/// The exit code of a program whose work ended with `status`: output that did not arrive turns success into Io, and what
/// fail_at_end() was told turns it into that. `tell` gets the sentence of
/// a failure. A reader of stdout that went away (`| head`) is no failure to tell of: the process then ends by SIGPIPE, as is usual.
int finish_program(Status status, void (*tell)(const Status& status));

}  // namespace optima
