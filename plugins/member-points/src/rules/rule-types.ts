import { line, nullable, Type, withDescription } from '@plinth/http'
import type { Static } from 'typebox'
import { defaultAsset } from '../contract.ts'

/** The type decides which settings a rule has. */
export const ruleTypes = ['check-in', 'order', 'task', 'lottery', 'manual', 'expiry'] as const
export type RuleType = (typeof ruleTypes)[number]

/** Maximum number of points of a reward. It catches typing errors. */
export const maxRewardPoints = 1_000_000_000
const maxPeriodDays = 36_500

const points = Type.Integer({ minimum: 0, maximum: maxRewardPoints, description: 'Points for one reward.' })
const days = { minimum: 1, maximum: 366 }

const bonus = Type.Object({ day: Type.Integer(days), points: Type.Integer({ minimum: 1, maximum: maxRewardPoints }) })

const expiresInDays = nullable(Type.Integer({ minimum: 1, maximum: maxPeriodDays }), {
  description: 'Days after which the points expire. Null: never. Default: the value of the rule `expiry`.',
})

const recovery = Type.Enum(['none', 'future-grants'], {
  description:
    'Treatment of points that a refund should take back but that are already spent. `none`: they are not recovered. `future-grants`: later rewards are reduced until the debt is paid.',
})

/** Settings of all types of rules. `settingsBy` lists the settings of each type. */
export const ruleSettings = Type.Object({
  points: Type.Optional(points),
  cycleDays: Type.Optional(
    Type.Integer({
      ...days,
      description: 'Length of the check-in cycle in days. After it, the extra points start again with day 1.',
    }),
  ),
  bonuses: Type.Optional(
    Type.Array(bonus, { maxItems: 31, description: 'Extra points for days of the cycle. The first day is 1.' }),
  ),
  perAmount: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000_000,
      description: 'Cash amount, in minor units, for which the points of the rule are granted once.',
    }),
  ),
  currency: Type.Optional(
    nullable(Type.String({ pattern: '^[A-Z]{3,8}$' }), {
      description: 'Currency of orders that earn points. Null or absent: all currencies.',
    }),
  ),
  maxPoints: Type.Optional(
    Type.Integer({ minimum: 1, maximum: maxRewardPoints, description: 'Maximum number of points for one order.' }),
  ),
  recovery: Type.Optional(recovery),
  recoverExpired: Type.Optional(
    Type.Boolean({
      description:
        'True: if points of the refunded order have expired, the refund takes back other points of the member instead.',
    }),
  ),
  once: Type.Optional(
    Type.Boolean({ description: 'True: each member is rewarded only once, even for different objects.' }),
  ),
  expiresInDays: Type.Optional(expiresInDays),
  expiringSoonDays: Type.Optional(
    Type.Integer({ ...days, description: 'Points that expire within this number of days are shown as expiring soon.' }),
  ),
})
export type RuleSettings = Static<typeof ruleSettings>

type Setting = keyof RuleSettings & string

const settingsBy: Readonly<
  Record<RuleType, { readonly needs: readonly Setting[]; readonly allows: readonly Setting[] }>
> = {
  'check-in': { needs: ['points'], allows: ['cycleDays', 'bonuses', 'expiresInDays'] },
  order: {
    needs: ['points', 'perAmount'],
    allows: ['currency', 'maxPoints', 'recovery', 'recoverExpired', 'expiresInDays'],
  },
  task: { needs: ['points'], allows: ['once', 'expiresInDays'] },
  lottery: { needs: [], allows: ['expiresInDays'] },
  manual: { needs: [], allows: ['expiresInDays'] },
  expiry: { needs: ['expiresInDays', 'expiringSoonDays'], allows: [] },
}

/** Returns the types of rules that have a setting. */
export const ruleTypesWith = (setting: Setting): readonly RuleType[] =>
  ruleTypes.filter((type) => [...settingsBy[type].needs, ...settingsBy[type].allows].includes(setting))

interface SettingProblem {
  readonly field: string
  readonly rule: 'required' | 'not-allowed' | 'beyond-cycle' | 'repeated'
}

/** Returns the first problem between settings. The schema has already checked each single value. */
export function findSettingProblem(type: RuleType, settings: RuleSettings): SettingProblem | undefined {
  const { needs, allows } = settingsBy[type]
  for (const name of needs) if (settings[name] === undefined) return { field: `config.${name}`, rule: 'required' }
  for (const [name, value] of Object.entries(settings)) {
    const isKnown = [...needs, ...allows].some((known) => known === name)
    if (value !== undefined && !isKnown) return { field: `config.${name}`, rule: 'not-allowed' }
  }
  const bonuses = settings.bonuses ?? []
  for (const [index, { day }] of bonuses.entries()) {
    const field = `config.bonuses[${index}].day`
    if (day > (settings.cycleDays ?? defaultCycleDays)) return { field, rule: 'beyond-cycle' }
    if (bonuses.findIndex((other) => other.day === day) !== index) return { field, rule: 'repeated' }
  }
  return undefined
}

export const defaultCycleDays = 7

export const displayText = (maxLength: number) =>
  withDescription(
    Type.Object({ en: line(maxLength, { minLength: 1 }), 'zh-CN': line(maxLength, { minLength: 1 }) }),
    'Text by locale, which replaces the text of the product.',
  )

export const pointsAsset = Type.String({
  pattern: '^points:[a-z0-9.-]+$',
  maxLength: 64,
  description: `Asset of the points. Default: \`${defaultAsset}\`.`,
})

export const ruleCode = Type.String({
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  maxLength: 64,
  description: 'Lower-case words with hyphens.',
})

/** Types of the built-in rules by code. Rules with other codes have the type `task` or `lottery`. */
const builtInRules: Readonly<Record<string, RuleType>> = {
  'check-in': 'check-in',
  'order-reward': 'order',
  'profile-completion': 'task',
  'first-order': 'task',
  'review-reward': 'task',
  'marketing-lottery': 'lottery',
  'manual-adjustment': 'manual',
  expiry: 'expiry',
}
export const builtInTypes: ReadonlyMap<string, RuleType> = new Map(Object.entries(builtInRules))
