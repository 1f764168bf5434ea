import { key, type LocalizedText } from '@plinth/kernel'

/** Declares a configuration key for the number of attempts per window. */
export const attempts = (declared: { readonly title: LocalizedText; readonly default: number }) =>
  key.integer({
    ...declared,
    description: { en: '0: unlimited.', 'zh-CN': '0 表示不限。' },
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
  })

/** Declares a configuration key for the length of a window. */
export const window = (declared: { readonly title: LocalizedText; readonly default: string }) =>
  key.duration({ ...declared, minimum: '1s', maximum: '30d', reload: 'live' })
