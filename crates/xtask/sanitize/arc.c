/* What ThreadSanitizer must know about std's Arc.
 *
 * The last owner of an Arc synchronises with the others by `fetch_sub(Release)`, then `fence(Acquire)`. The sanitizer
 * does not understand fences, and reported each Arc that the last of several threads freed: 543 of 620 reports. An std
 * that is built for the sanitizer loads instead; ours comes built. So the linker (--wrap) leads each `fetch_sub` here,
 * and those that release also acquire, which is what the fence does for the one that counts.
 *
 * What that hides: a `fetch_sub(Release)` of our own that forgets its acquire. The loom models watch those.
 */

typedef unsigned long long word;
enum { RELEASE = 3, ACQ_REL = 4 };

word __real___tsan_atomic64_fetch_sub(volatile word *, word, int);

word __wrap___tsan_atomic64_fetch_sub(volatile word *place, word value, int order) {
    return __real___tsan_atomic64_fetch_sub(place, value, order == RELEASE ? ACQ_REL : order);
}
