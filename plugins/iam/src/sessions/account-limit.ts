import type { ConfigView, UpgradeStep } from '@plinth/kernel'
import { formatDuration } from '@plinth/kernel/host'
import type { keys } from '../config.ts'
import { iamError } from '../declarations.ts'

type Config = ConfigView<typeof keys>

const root = 'platform.iam.auth.login.rate-limit.password'
const attemptsKey = `${root}.identifier-max-attempts` as const
const windowKey = `${root}.identifier-window` as const

/** Fewer attempts or a longer window would lock out a user after one mistake (decision G27). 0 attempts: unlimited. */
const minAttempts = 3
const maxWindowMs = 3_600_000

const nearest = {
  [attemptsKey]: (count: number) => (count > 0 ? Math.max(minAttempts, count) : count),
  [windowKey]: (ms: number) => Math.min(maxWindowMs, ms),
} as const
const reasons = {
  [attemptsKey]: `it must be 0 or at least ${minAttempts}`,
  [windowKey]: `it must be at most ${formatDuration(maxWindowMs)}`,
} as const
const limitKeys = [attemptsKey, windowKey] as const

/** Returns the limit of login attempts per account. An earlier version may have stored other values than the allowed. */
export const accountLimit = (config: Config) => ({
  maxAttempts: nearest[attemptsKey](config.get(attemptsKey)),
  windowMs: nearest[windowKey](config.get(windowKey)),
})

/** Returns a text for each value that is not applied as it is configured. */
function replacedValues(config: Config): readonly string[] {
  const shown = (key: (typeof limitKeys)[number], value: number) =>
    key === windowKey ? formatDuration(value) : String(value)
  return limitKeys.flatMap((key) => {
    const value = config.get(key)
    const applied = nearest[key](value)
    return applied === value
      ? []
      : [`${key} is ${shown(key, value)}, but ${reasons[key]}. ${shown(key, applied)} is applied.`]
  })
}

/** Rejects new values with which users lock themselves out, and reports configured ones. */
export function guardAccountLimit(config: Config, warn: (text: string) => void): void {
  for (const key of limitKeys) {
    config.onVerify(key, (value) => {
      if (nearest[key](value) !== value) throw iamError('PLINTH_IAM_ACCOUNT_LIMIT', { key, reason: reasons[key] })
    })
  }
  for (const text of replacedValues(config)) warn(text)
}

/** Returns the lines of `plinth upgrade --dry-run` for configured values that are not applied. */
export const accountLimitSteps = (config: Config): readonly UpgradeStep[] =>
  replacedValues(config).map((entry) => ({ change: 'limited', plugin: 'iam', entry }))
