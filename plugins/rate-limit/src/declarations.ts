import { defineBusinessErrors, errorTable, type PermissionDeclaration } from '@plinth/kernel'
import type { RateLimitResult } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const rateLimitError = errorTable({
  PLINTH_RATE_LIMIT_DECLARATION: `The rate limit {{place}} is invalid: {{reason}}.
    Correct the rateLimited() annotation or the routeLimits.under() call of that plugin.`,
  PLINTH_RATE_LIMIT_UNKNOWN_STORE: `{{place}} specifies the rate limit store "{{store}}", which no loaded plugin provides. Loaded stores: {{loaded}}.{{nearest}}
    Add the plugin of that store to the product file, or specify a loaded store.`,
})

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('rate-limit', en['rate-limit'], {
  exceeded: '429',
  'cost-exceeds-limit': '429',
  'store-unavailable': '503',
})

/** Returns the error of a denial (document 1 of the specification, "Errors" 2). */
export function tooManyRequests({ retryAfter, exceedsLimit }: Pick<RateLimitResult, 'retryAfter' | 'exceedsLimit'>) {
  if (exceedsLimit) return businessError('cost-exceeds-limit')
  const seconds = retryAfterSeconds(retryAfter)
  const [unit, length] = waitUnits.find(([, unitSeconds]) => seconds >= 2 * unitSeconds) ?? shortestUnit
  const params = { wait: Math.ceil(seconds / length) }
  return businessError('exceeded', { text: `exceeded.${unit}`, params, data: { retryAfter: seconds } })
}

const shortestUnit = ['seconds', 1] as const
/** Units in which people read a wait, with their lengths in seconds. */
const waitUnits = [['days', 86_400], ['hours', 3_600], ['minutes', 60], shortestUnit] as const

/** Returns seconds, rounded up and at least 1, so that a client that waits this long is allowed. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

/** Returns the error for a limit whose store fails and that must not allow uncounted calls. */
export const storeUnavailable = (cause: unknown) => businessError('store-unavailable', { cause })

export const permissionCodes = { view: 'rate-limit:view' } as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.view, displayName: { en: 'View the rate limiter', 'zh-CN': '查看限流运行信息' } },
]
