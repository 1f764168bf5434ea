import { guardsPermission, key, omitUndefined } from '@plinth/kernel'

/** Configuration keys that several stores declare, by the name of the store. */

export const enabledKey = (name: string) =>
  key.boolean({
    title: { en: `Store "${name}"`, 'zh-CN': `启用存储 ${name}` },
    default: true,
    // The limiter cannot start without its default store.
    neededWhile: { key: 'platform.rate-limit.default-store', is: name },
    permission: guardsPermission,
  })

export const providerKey = (name: string) =>
  key.enum({
    title: { en: `Provider of the store "${name}"`, 'zh-CN': `存储 ${name} 的提供者` },
    description: { en: 'Equals the name of the store.', 'zh-CN': '与存储名称相同。' },
    values: [name],
    default: name,
  })

type Text = Parameters<typeof key.integer>[0]['description']

export const cleanupIntervalKey = (description: Text) =>
  key.integer(
    omitUndefined({
      title: { en: 'Calls between purges', 'zh-CN': '两次清理之间的调用次数' },
      description,
      default: 1024,
      minimum: 1,
    }),
  )

/** The upper limit is the maximum size of a Map. */
export const maxKeysKey = (description: Text) =>
  key.integer(
    omitUndefined({
      title: { en: 'Maximum keys', 'zh-CN': '最大键数' },
      description,
      default: 1_000_000,
      // With fewer keys, the clients of a small product could fill the store, and then nobody could log in.
      minimum: 1_000,
      maximum: 2 ** 24 - 1,
    }),
  )
