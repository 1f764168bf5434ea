import { type ConfigView, key } from '@plinth/kernel'
import type { Redis } from 'ioredis'

/** Where the engine `bullmq` finds Redis. */
export const redisKeys = {
  'platform.scheduler.bullmq.url': key.string({
    title: { en: 'Redis of the engine bullmq', 'zh-CN': 'bullmq 引擎的 Redis 地址' },
    description: {
      en: 'redis:// or rediss://, with user, password and database number where needed.',
      'zh-CN': 'redis:// 或 rediss:// 地址，可含用户名、密码和数据库编号。',
    },
    default: 'redis://127.0.0.1:6379',
    pattern: '^rediss?://',
    sensitive: true,
  }),
  'platform.scheduler.bullmq.prefix': key.string({
    title: { en: 'Key prefix of the engine bullmq', 'zh-CN': 'bullmq 引擎的键前缀' },
    description: {
      en: 'Products that share a Redis need different ones.',
      'zh-CN': '共用 Redis 的不同产品须使用不同的前缀。',
    },
    default: 'plinth',
    pattern: '^[A-Za-z0-9_.-]{1,64}$',
  }),
}

/**
 * Opens the connection. It reconnects by itself, for ever; commands wait meanwhile, as BullMQ demands.
 *
 * @param onError told each time that a connection fails
 */
export async function connectRedis(
  config: ConfigView<typeof redisKeys>,
  onError: (error: unknown) => void,
): Promise<{ readonly redis: Redis; readonly prefix: string }> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(config.get('platform.scheduler.bullmq.url'), { maxRetriesPerRequest: null })
  redis.on('error', onError)
  // One hash tag: BullMQ's scripts need all keys of a queue in one slot of a cluster.
  return { redis, prefix: `{${config.get('platform.scheduler.bullmq.prefix')}}` }
}
