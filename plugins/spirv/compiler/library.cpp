// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include <array>
#include <string_view>

namespace spirv_plugin {
namespace {

struct Function {
  const char* name;
  const char* text;
};

/// Those that others call stand before them. Polynomials: Abramowitz and Stegun, Handbook of Mathematical Functions, 4.4.47 and 7.1.26; series of
/// log1p and expm1 after Kahan's quotient (Higham, Accuracy and Stability of Numerical Algorithms, 1.14.1). Vulkan promises an error of 2^-11 for
/// sin and cos, and nothing outside of -pi to pi: arguments are brought there first.
constexpr Function kLibrary[] = {
    {"nan_", "bool nan_(float x){return (floatBitsToUint(x)&0x7fffffffu)>0x7f800000u;}\n"},
    {"inf_", "bool inf_(float x){return (floatBitsToUint(x)&0x7fffffffu)==0x7f800000u;}\n"},
    // NaN stays: max(x,0) may make 0 of it.
    {"relu_", "float relu_(float x){return x<0.0?0.0:x;}\nint relu_(int x){return max(x,0);}\n"},
    {"max_", "float max_(float a,float b){return nan_(a)?a:nan_(b)?b:max(a,b);}\nint max_(int a,int b){return max(a,b);}\n"},
    {"min_", "float min_(float a,float b){return nan_(a)?a:nan_(b)?b:min(a,b);}\nint min_(int a,int b){return min(a,b);}\n"},
    {"expm1_", "float expm1_(float x){float u=exp(x);if(u==1.0)return x;float m=u-1.0;if(m==-1.0)return -1.0;if(abs(x)>0.5)return m;"
               "return x*(1.0+x*(0.5+x*(0.166666667+x*(0.0416666667+x*(0.00833333333+x*(0.00138888889+x*0.000198412698))))));}\n"},
    {"log1p_", "float log1p_(float x){if(abs(x)<0.01)return x*(1.0-x*(0.5-x*(0.333333333-x*(0.25-x*0.2))));return log(1.0+x);}\n"},
    {"tanh_", "float tanh_(float x){float a=abs(x);if(nan_(x))return x;if(a>10.0)return x<0.0?-1.0:1.0;if(a<0.15){float q=x*x;"
              "return x*(1.0+q*(-0.333333333+q*(0.133333333+q*(-0.0539682540+q*0.0218694885))));}float e=exp(2.0*a);float t=1.0-2.0/(e+1.0);return x<0.0?-t:t;}\n"},
    {"sigmoid_", "float sigmoid_(float x){return 1.0/(1.0+exp(-x));}\n"},
    {"softplus_", "float softplus_(float x){return (x>0.0?x:0.0)+log1p_(exp(-abs(x)));}\n"},
    // Winitzki's is too coarse: a rational series below 0.5, 7.1.26's error is 1.5e-7 above.
    {"erf_", "float erf_(float x){if(nan_(x))return x;float a=abs(x);if(a<0.5){float q=x*x;return x*(1.12837917+q*(-0.376126389+q*(0.112837917+q*(-0.0268661706+q*(0.00522397763-q*0.000854832702)))));}"
             "float t=1.0/(1.0+0.3275911*a);float r=1.0-t*(0.254829592+t*(-0.284496736+t*(1.421413741+t*(-1.453152027+t*1.061405429))))*exp(-a*a);return x<0.0?-r:r;}\n"},
    {"atan_", "float atan_(float x){float a=abs(x);bool turned=a>1.0;float z=turned?1.0/a:a;bool far=z>0.414213562;float w=far?(z-1.0)/(z+1.0):z;float q=w*w;"
              "float r=w*(1.0+q*(-0.333333315+q*(0.199993550+q*(-0.142648758+q*(0.108762506+q*-0.0746019728)))));if(far)r+=0.785398163;if(turned)r=1.57079633-r;return x<0.0?-r:r;}\n"},
    {"asin_", "float asin_(float x){float a=abs(x);if(!(a<=1.0))return uintBitsToFloat(0x7fc00000u);float r;if(a<=0.5){float q=a*a;r=a+a*q*(0.166666752+q*(0.0749530027+q*(0.0454700413+q*(0.0241813470+q*0.0421632752))));}"
              "else{float q=0.5*(1.0-a);float s=sqrt(q);r=1.57079633-2.0*(s+s*q*(0.166666752+q*(0.0749530027+q*(0.0454700413+q*(0.0241813470+q*0.0421632752)))));}return x<0.0?-r:r;}\n"},
    {"acos_", "float acos_(float x){if(x>0.5){float q=0.5*(1.0-x);if(q<0.0)return uintBitsToFloat(0x7fc00000u);float s=sqrt(q);return 2.0*asin_(s);}return 1.57079633-asin_(x);}\n"},
    // 32 bits of 1 / (2 pi) from bit `at` on, of which the first 32 are ahead of the point.
    {"rounds_", "uint rounds_(int k){return k==0?0u:k==1?0x28be60dbu:k==2?0x9391054au:k==3?0x7f09d5f4u:k==4?0x7d4d3770u:k==5?0x36d8a566u:k==6?0x4f10e410u:0x7f9458eau;}\n"},
    {"rounds_at_", "uint rounds_at_(int at){int k=at>>5,b=at&31;return b==0?rounds_(k):rounds_(k)<<b|rounds_(k+1)>>(32-b);}\n"},
    // A number of turns taken off in two parts (Cody and Waite); where it is too large for that, the share of a turn is the product with the bits of
    // 1 / (2 pi) that are not whole turns (Payne and Hanek), kept to 64 of them.
    {"turn_", "float turn_(float x){float a=abs(x);if(nan_(x)||inf_(x))return uintBitsToFloat(0x7fc00000u);if(a<1.0e5){float k=roundEven(x*0.159154943);return (x-k*6.28125)-k*0.00193530717958647692;}"
              "uint u=floatBitsToUint(a),m=u&0x7fffffu|0x800000u;int at=int(u>>23)-118;uint high1,low1,high2,low2,carry;umulExtended(m,rounds_at_(at+32),high1,low1);"
              "umulExtended(m,rounds_at_(at+64),high2,low2);uint second=uaddCarry(low1,high2,carry),first=m*rounds_at_(at)+high1+carry;"
              "float r=(float(int(first))*2.32830644e-10+float(second)*5.42101086e-20)*6.28318531;return x<0.0?-r:r;}\n"},
    {"sin_", "float sin_(float x){float r=turn_(x);if(r>1.57079633)r=3.14159265-r;else if(r<-1.57079633)r=-3.14159265-r;float q=r*r;"
             "return r*(1.0+q*(-0.166666667+q*(0.00833333333+q*(-0.000198412698+q*(2.75573192e-6-q*2.50521084e-8)))));}\n"},
    {"cos_", "float cos_(float x){float r=abs(turn_(x));bool far=r>1.57079633;if(far)r=3.14159265-r;float q=r*r;"
             "float c=1.0+q*(-0.5+q*(0.0416666667+q*(-0.00138888889+q*(2.48015873e-5+q*(-2.75573192e-7+q*2.08767570e-9)))));return far?-c:c;}\n"},
    {"sinh_", "float sinh_(float x){float a=abs(x);float r;if(a<1.0){float q=a*a;r=a*(1.0+q*(0.166666667+q*(0.00833333333+q*(0.000198412698+q*2.75573192e-6))));}"
              "else{float h=exp(0.5*a);r=0.5*h*h-0.5/(h*h);}return x<0.0?-r:r;}\n"},
    {"cosh_", "float cosh_(float x){float h=exp(0.5*abs(x));return 0.5*h*h+0.5/(h*h);}\n"},
    {"asinh_", "float asinh_(float x){float a=abs(x);float r=a>1.0e4?log(a)+0.693147181:log1p_(a+a*a/(1.0+sqrt(a*a+1.0)));return x<0.0?-r:r;}\n"},
    {"acosh_", "float acosh_(float x){return x>1.0e4?log(x)+0.693147181:log1p_((x-1.0)+sqrt((x-1.0)*(x+1.0)));}\n"},
    {"atanh_", "float atanh_(float x){return 0.5*log1p_(2.0*x/(1.0-x));}\n"},
    // pow of GLSL is undefined for a negative base.
    {"pow_", "float pow_(float a,float b){if(b==0.0||a==1.0)return 1.0;if(nan_(a)||nan_(b))return uintBitsToFloat(0x7fc00000u);if(b==1.0)return a;if(b==2.0)return a*a;if(b==3.0)return a*a*a;if(b==0.5&&a>=0.0)return sqrt(a);if(b==-1.0)return 1.0/a;"
             "float m=abs(a);bool whole=b==roundEven(b),odd=whole&&abs(b)<16777216.0&&abs(mod(b,2.0))==1.0;if(m==0.0)return b>0.0?(odd?a:0.0):(odd?1.0/a:uintBitsToFloat(0x7f800000u));"
             "if(a<0.0&&!whole&&!inf_(a))return uintBitsToFloat(0x7fc00000u);float r;if(inf_(b))r=m==1.0?1.0:((m>1.0)==(b>0.0)?uintBitsToFloat(0x7f800000u):0.0);else r=pow(m,b);"
             "if(whole&&abs(b)<=8.0){int e=int(abs(b));float q=m*m;r=(e&1)!=0?m:1.0;if((e&2)!=0)r*=q;q*=q;if((e&4)!=0)r*=q;if(e==8)r=q*q;if(b<0.0)r=1.0/r;}return a<0.0&&odd?-r:r;}\n"},
    {"ipow_", "int ipow_(int a,int b){int r=1;if(b<0)return a==1?1:a==-1?(b%2==0?1:-1):0;for(int i=0;i<31&&b>0;++i){if((b&1)!=0)r*=a;a*=a;b>>=1;}return r;}\n"},
    // Quotient towards zero whatever the signs: GLSL leaves negative operands open.
    {"idiv_", "int idiv_(int a,int b){if(b==0)return 0;uint q=uint(abs(a))/uint(abs(b));return (a<0)!=(b<0)?-int(q):int(q);}\n"},
    {"imod_", "int imod_(int a,int b){if(b==0)return 0;int m=a-idiv_(a,b)*b;return m!=0&&(m<0)!=(b<0)?m+b:m;}\n"},
    {"ifmod_", "int ifmod_(int a,int b){return b==0?0:a-idiv_(a,b)*b;}\n"},
    // 64-bit integers in 32: the ends stand for all beyond, and what is computed of them is beyond, too, where it is not known to be 0.
    {"beyond_", "bool beyond_(int a){return a==2147483647||a==(-2147483647-1);}\n"},
    {"end_", "int end_(bool low){return low?(-2147483647-1):2147483647;}\n"},
    {"neg64_", "int neg64_(int a){return beyond_(a)?end_(a>0):-a;}\n"},
    {"add64_", "int add64_(int a,int b){if(beyond_(a))return a;if(beyond_(b))return b;int r=a+b;return ((a^r)&(b^r))<0?end_(a<0):r;}\n"},
    {"sub64_", "int sub64_(int a,int b){return add64_(a,neg64_(b));}\n"},
    {"mul64_", "int mul64_(int a,int b){if(a==0||b==0)return 0;bool low=(a<0)!=(b<0);if(beyond_(a)||beyond_(b))return end_(low);int high,r;imulExtended(a,b,high,r);return high!=(r>>31)?end_(low):r;}\n"},
    {"div64_", "int div64_(int a,int b){return b==0||(beyond_(b)&&!beyond_(a))?0:beyond_(a)?end_((a<0)!=(b<0)):idiv_(a,b);}\n"},
    {"fmod64_", "int fmod64_(int a,int b){return beyond_(a)||beyond_(b)?a:ifmod_(a,b);}\n"},
    {"mod64_", "int mod64_(int a,int b){return beyond_(a)?a:beyond_(b)?(a==0||(a<0)==(b<0)?a:b):imod_(a,b);}\n"},
    {"pow64_", "int pow64_(int a,int b){int r=1;if(b<0)return a==1?1:a==-1?(b%2==0?1:-1):0;for(int i=0;i<31&&b>0;++i){if((b&1)!=0)r=mul64_(r,a);b>>=1;if(b>0)a=mul64_(a,a);}return r;}\n"},
    {"shift64_", "int shift64_(int a,int b){int r=a<<b;return beyond_(a)?a:(r>>b)!=a?end_(a<0):r;}\n"},
    {"real64_", "float real64_(int a){return beyond_(a)?uintBitsToFloat(a<0?0xff800000u:0x7f800000u):float(a);}\n"},
    // Exact: significands as whole numbers, eight bits of the quotient at a time.
    {"fmod_", "float fmod_(float a,float b){if(nan_(a)||nan_(b)||inf_(a)||b==0.0)return uintBitsToFloat(0x7fc00000u);if(inf_(b)||abs(a)<abs(b))return a;"
              "uint x=floatBitsToUint(abs(a)),y=floatBitsToUint(abs(b));int p=max(1,int(x>>23)),q=max(1,int(y>>23)),d=p-q;"
              "uint m=x>>23==0u?x:x&0x7fffffu|0x800000u,n=y>>23==0u?y:y&0x7fffffu|0x800000u,r=m%n;for(int i=0;i<32&&d>0;++i){int s=min(d,8);r=(r<<s)%n;d-=s;}"
              "float v=float(r)*(q<50?7.88860905e-31:1.0);int e=q<50?q+77:q-23;v*=uintBitsToFloat(uint(max(e,1))<<23);return a<0.0?-v:v;}\n"},
    {"floormod_", "float floormod_(float a,float b){if(nan_(a)||nan_(b)||inf_(a)||b==0.0)return uintBitsToFloat(0x7fc00000u);if(inf_(b))return a==0.0?(b<0.0?-0.0:0.0):(a<0.0)==(b<0.0)?a:b;"
                  "float m=fmod_(a,b);if(m==0.0)return b<0.0?-0.0:0.0;return (m<0.0)!=(b<0.0)?m+b:m;}\n"},
    {"int_", "int int_(float x){return nan_(x)?(-2147483647-1):x>=2147483520.0?2147483647:x<=-2147483648.0?(-2147483647-1):int(x);}\n"},
};

bool calls(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name + "("); at != text.npos; at = text.find(name + "(", at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    if (!((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || (before >= '0' && before <= '9') || before == '_')) return true;
  }
  return false;
}

}  // namespace

std::string library_for(const std::string& body) {
  constexpr size_t kCount = std::size(kLibrary);
  std::array<bool, kCount> wanted{};
  std::string all = body;
  for (size_t k = kCount; k-- > 0;)
    if (calls(all, kLibrary[k].name)) wanted[k] = true, all += kLibrary[k].text;
  std::string out;
  for (size_t k = 0; k < kCount; ++k)
    if (wanted[k]) out += kLibrary[k].text;
  return out;
}

}  // namespace spirv_plugin
