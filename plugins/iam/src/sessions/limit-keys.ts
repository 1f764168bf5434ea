import { key, type LocalizedText } from '@plinth/kernel'

export const maxAttemptsKey = (declared: { readonly title: LocalizedText; readonly default: number }) =>
  key.integer({
    ...declared,
    description: { en: '0: unlimited.', 'zh-CN': '0 表示不限。' },
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
  })

export const attemptWindowKey = (declared: { readonly title: LocalizedText; readonly default: string }) =>
  key.duration({ ...declared, minimum: '1s', maximum: '30d', reload: 'live' })
