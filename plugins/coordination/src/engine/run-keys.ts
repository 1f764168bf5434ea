import { errorTable, type KeyDeclaration, key } from '@plinth/kernel'

export const coordinationError = errorTable({
  PLINTH_COORDINATION_NO_REDIS: `platform.{{name}}.engine is "bullmq", but the product has no Redis.
    Load @plinth/shared-store with platform.cache.enabled=true, or use the engine "embedded".`,
  PLINTH_COORDINATION_EVICTION: `Redis has the maxmemory-policy {{policy}}, so it may remove jobs of the queue {{name}}.
    Set maxmemory-policy to noeviction, or use the engine "embedded" for platform.{{name}}.engine.`,
})

export type RunKeys<P extends string> = { readonly [K in `${P}.engine`]: KeyDeclaration<EngineName> } & {
  readonly [K in `${P}.lease` | `${P}.poll-interval`]: KeyDeclaration<number>
}
export type EngineName = 'embedded' | 'bullmq'

/**
 * Returns the configuration keys of a run engine.
 *
 * @param of plural name of the runs: `{ en: 'scheduled tasks', 'zh-CN': '定时任务' }`
 */
export function runKeys<const P extends string>(prefix: P, of: { readonly en: string; readonly 'zh-CN': string }) {
  const keys = {
    [`${prefix}.engine`]: key.enum({
      title: { en: `Engine of ${of.en}`, 'zh-CN': `${of['zh-CN']}引擎` },
      description: {
        en: 'embedded: the first instance that finds a due task runs it. bullmq: due tasks pass through a queue on the Redis server of platform.cache. All instances need the same engine.',
        'zh-CN':
          'embedded：由最先发现到期任务的实例执行；bullmq：到期任务经由 platform.cache 所配置的 Redis 的队列分发。所有实例须使用同一引擎。',
      },
      values: ['embedded', 'bullmq'],
      default: 'embedded',
    }),
    [`${prefix}.lease`]: key.duration({
      title: { en: 'Lease of a running task', 'zh-CN': '运行任务的租约' },
      description: {
        en: 'If an instance stops unexpectedly, another instance takes over its task within this time. All instances need the same value.',
        'zh-CN': '实例异常终止后，其他实例在此时间内接管其任务。所有实例须使用同一值。',
      },
      default: '30s',
      minimum: '1s',
      maximum: '1h',
    }),
    [`${prefix}.poll-interval`]: key.duration({
      title: { en: 'Task poll interval', 'zh-CN': '任务轮询间隔' },
      description: {
        en: 'How often a worker checks for tasks while tasks are due. Without tasks, the interval grows to five seconds, or less if the lease is short. A change wakes the worker immediately.',
        'zh-CN': '有任务时工作进程的轮询间隔；空闲时逐渐延长至五秒（租约较短时更短），发生变更时立即唤醒。',
      },
      default: '1s',
      minimum: '100ms',
      maximum: '1m',
      reload: 'live',
    }),
  }
  return keys as unknown as RunKeys<P>
}
