import { type CaseBodies, expectEqual } from './conformance-case.ts'
import { drain, type RateLimitWorld, rateLimitRequest } from './rate-limit-world.ts'

/** Keys that stores tend to mix up or to trip over. */
const awkwardKeys = [
  'a',
  'a:b',
  'a:b:',
  '',
  ' ',
  '__proto__',
  'constructor',
  '{a}',
  '{a}b',
  '*',
  'A',
  'ключ',
  '🔑',
  'k'.repeat(600),
  `${'k'.repeat(600)}x`,
  'a ',
]

/** Cases about keys: which of them are the same, and how one is forgotten. */
export function keyCases<Harness>(): CaseBodies<RateLimitWorld<Harness>> {
  return {
    'keys do not touch each other': [
      'Use the whole key as it is: no trimming, folding of case, cutting, or object with a prototype, and a collation that compares bytes.',
      async ({ store }) => {
        for (const key of awkwardKeys) await drain(store, rateLimitRequest({ key }))
        for (const key of awkwardKeys) {
          const { allowed } = await store.consume(rateLimitRequest({ key }))
          expectEqual(
            `A drained key stays drained: ${JSON.stringify(key.slice(0, 20))}, ${key.length} characters`,
            allowed,
            false,
          )
        }
      },
    ],

    'reset forgets one key': [
      'Remove exactly this key, and accept one that was never seen.',
      async ({ store, other }) => {
        await drain(store, rateLimitRequest())
        await drain(store, rateLimitRequest({ key: 'other' }))
        await drain(store, rateLimitRequest({ key: 'account:10' }))
        await other.reset('account:1')
        await store.reset('never seen')
        const { allowed } = await store.consume(rateLimitRequest({ key: 'account:10' }))
        expectEqual('reset leaves keys alone that begin with the same text', allowed, false)
        expectEqual(
          'reset leaves other keys alone',
          (await store.consume(rateLimitRequest({ key: 'other' }))).allowed,
          false,
        )
        await drain(store, rateLimitRequest())
      },
    ],
  }
}
