/*
 * The beginning of a shipped probe for x86-64: the probe is in it once for each level of instructions of the x86-64
 * psABI that makes a difference to it, and the highest that this processor and its kernel offer runs.
 */
#include <cpuid.h>
#include <stdint.h>

int main_v1(int count, char **words);
int main_v3(int count, char **words);
int main_v4(int count, char **words);

#define HAS(value, bits) (((value) & (bits)) == (bits))

/* What the kernel saves of the vector registers (XCR0): bits 1 and 2 AVX, 5 to 7 AVX-512. */
static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int level(void)
{
    uint32_t a, b, c, d, more_b, more_c, ignored;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !HAS(c, bit_OSXSAVE | bit_AVX | bit_FMA | bit_MOVBE | bit_F16C))
        return 1;
    if (!HAS(saved_registers(), 0x6u) || !__get_cpuid_count(7, 0, &a, &more_b, &ignored, &d))
        return 1;
    if (!__get_cpuid(0x80000001u, &a, &b, &more_c, &d) || !HAS(more_c, bit_LZCNT))
        return 1;
    if (!HAS(more_b, bit_AVX2 | bit_BMI | bit_BMI2))
        return 1;
    if (!HAS(more_b, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL))
        return 3;
    return HAS(saved_registers(), 0xe6u) ? 4 : 3;
}

int main(int count, char **words)
{
    switch (level()) {
    case 4: return main_v4(count, words);
    case 3: return main_v3(count, words);
    default: return main_v1(count, words);
    }
}
