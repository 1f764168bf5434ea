import database from '@plinth/database'
import { startRedis } from '@plinth/dev/testing/shared-store'
import type { FailurePolicy } from '@plinth/http'
import { defineProduct } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import rateLimit, { type RateLimiter, rateLimiter } from '@plinth/rate-limit'
import memory from '@plinth/rate-limit-stores/memory'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import type { Section } from '../kernel/report.ts'
import { median, spread } from '../kernel/statistics.ts'

const deadlineMs = 250
const underWay = 64
const later = 500

interface Freeze {
  /** Milliseconds of the slowest call among those that were pending when Redis stopped. */
  readonly firstMs: number
  /** p99 of the later calls in milliseconds; `laterMostMs` is the slowest of them. */
  readonly laterMs: number
  readonly laterMostMs: number
  /** Milliseconds from the moment Redis continues until the store is used again. */
  readonly backMs: number
}

/**
 * Suspends Redis and measures how long callers wait at first and later, and how long it takes until Redis is used
 * again.
 */
export async function measureFrozen(rounds: number): Promise<Section> {
  const policies = ['closed', 'insurance'] as const
  const seen = new Map<FailurePolicy, Freeze[]>(policies.map((policy) => [policy, []]))
  for (let round = 0; round < rounds; round++) {
    for (const policy of policies) seen.get(policy)?.push(await freezeOnce(policy))
  }
  const of = (policy: FailurePolicy, figure: keyof Freeze) => (seen.get(policy) ?? []).map((one) => one[figure])
  const cell = (policy: FailurePolicy, figure: keyof Freeze) =>
    `${median(of(policy, figure)).toFixed(2)}, at most ${Math.max(...of(policy, figure)).toFixed(2)}`
  return {
    title: 'Redis frozen',
    tables: [
      [
        [
          'policy',
          'slowest call under way, ms',
          'p99 afterwards, ms',
          'slowest afterwards, ms',
          'used again after, ms',
        ],
        ...policies.map((policy) => [
          policy,
          cell(policy, 'firstMs'),
          cell(policy, 'laterMs'),
          cell(policy, 'laterMostMs'),
          cell(policy, 'backMs'),
        ]),
      ],
    ],
    notes: [
      `${rounds} times SIGSTOP with ${underWay} calls under way, then ${later} calls one after the other, then SIGCONT; deadline ${deadlineMs} ms`,
    ],
    bars: [
      {
        name: 'Redis frozen: slowest call under way',
        measured: spread(policies.flatMap((policy) => of(policy, 'firstMs'))),
        bar: { atMost: deadlineMs + 50 },
        unit: 'ms',
      },
      {
        name: 'Redis frozen: p99 of calls after the first failure',
        measured: spread(policies.flatMap((policy) => of(policy, 'laterMs'))),
        bar: { atMost: 1 },
        unit: 'ms',
      },
    ],
  }
}

async function freezeOnce(failurePolicy: FailurePolicy): Promise<Freeze> {
  const redis = await startRedis()
  if (redis === undefined) throw new Error('redis-server cannot be started')
  const product = defineProduct({
    name: 'bench',
    plugins: [database, sharedStore, rateLimit, memory, sharedWindow],
    config: {
      'platform.database.sqlite.file': ':memory:',
      'platform.log.level': 'fatal',
      'platform.rate-limit.default-store': 'shared-window',
      'platform.rate-limit.store-deadline': `${deadlineMs}ms`,
      ...redis.config,
    },
  })
  const running = await startProduct(product, { envFile: false })
  const limiter = running.service(rateLimiter)
  const timed = async (key: string) => {
    const startedAt = performance.now()
    await limiter.consume({ key, failurePolicy }).catch(() => undefined)
    return performance.now() - startedAt
  }
  try {
    for (let call = 0; call < 2000; call++) await timed('warm')
    redis.freeze()
    const first = await Promise.all(Array.from({ length: underWay }, (_, call) => timed(`first:${call}`)))
    const times: number[] = []
    for (let call = 0; call < later; call++) times.push(await timed(`later:${call}`))
    times.sort((a, b) => a - b)
    redis.thaw()
    const thawedAt = performance.now()
    while (!(await isUsed(limiter))) await new Promise((resolve) => setTimeout(resolve, 5))
    return {
      firstMs: Math.max(...first),
      laterMs: times[Math.floor(0.99 * times.length)] ?? 0,
      laterMostMs: times.at(-1) ?? 0,
      backMs: performance.now() - thawedAt,
    }
  } finally {
    await running.stop('measured')
    await redis.drop()
  }
}

/** True if the store decides. A call with the policy `closed` is allowed only in this case. */
const isUsed = (limiter: RateLimiter) =>
  limiter.consume({ key: 'back', failurePolicy: 'closed' }).then(
    () => true,
    () => false,
  )
