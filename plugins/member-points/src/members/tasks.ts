import type { Database } from '@plinth/database'
import { nullable, Type, text } from '@plinth/http'
import type { Static } from 'typebox'
import { checkInPoints, checkInStreakOn } from '../check-in/check-ins.ts'
import { noExpiryTime, RuleRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { isRewardedOnce, onceRewardKey } from '../rewards/rewards.ts'
import { ruleSettings } from '../rules/rule-types.ts'
import type { Texts } from './texts.ts'

const maxTasks = 200

const checkInState = Type.Object({
  checkedIn: Type.Boolean({ description: 'True if the member has checked in today.' }),
  consecutiveDays: Type.Integer({
    minimum: 0,
    description: 'Consecutive days with a check-in. Today is included after the check-in.',
  }),
  nextPoints: Type.Integer({ minimum: 0, description: 'Points for the next check-in if the member misses no day.' }),
})

export const taskView = Type.Object({
  code: text,
  type: Type.Enum(['check-in', 'order', 'task']),
  displayName: text,
  displayTitle: text,
  displayDescription: text,
  enabled: Type.Boolean(),
  repeatable: Type.Boolean({ description: 'True if the task is rewarded more than once.' }),
  completed: Type.Boolean({
    description: 'True if the task is done: permanently, or for today in the case of check-in.',
  }),
  rule: Type.Object({ version: Type.Integer(), asset: text, ...ruleSettings.properties }),
  checkIn: nullable(checkInState, { description: 'Only present for the check-in task.' }),
})
type TaskView = Static<typeof taskView>

/** Order of the tasks in document 1 of the specification. Other tasks follow, ordered by code. */
const order = ['check-in', 'order-reward', 'profile-completion', 'first-order', 'review-reward']

export type TaskDependencies = Pick<Parts, 'db' | 'clock' | 'checkIns' | 'calendar' | 'texts'>

export async function readMemberTasks(userId: number, locale: string, parts: TaskDependencies): Promise<TaskView[]> {
  const rules = await parts.db
    .fork()
    .find(
      RuleRow,
      { activeTo: noExpiryTime, type: { $in: ['check-in', 'order', 'task'] } },
      { orderBy: { code: 'asc' }, limit: maxTasks },
    )
  const place = ({ code }: RuleRow) => (order.includes(code) ? order.indexOf(code) : order.length)
  rules.sort((a, b) => place(a) - place(b) || (a.code < b.code ? -1 : 1))
  const done = await doneOnce(userId, rules, parts.db)
  const state = await checkInOf(userId, rules, parts)
  return rules.map((rule) => {
    const { code, type, enabled, version, asset, config } = rule
    const { points = 0, perAmount = 1 } = config
    const params = { points, amount: amountOf(perAmount, config.currency ?? undefined, locale, parts.texts) }
    const isCheckIn = type === 'check-in'
    const name = parts.texts.find(locale, `tasks.${code}.name`) ?? code
    return {
      code,
      type: type as TaskView['type'],
      displayName: name,
      displayTitle: parts.texts.written(locale, rule.displayTitle, `tasks.${code}.title`, params) ?? name,
      displayDescription:
        parts.texts.written(locale, rule.displayDescription, `tasks.${code}.description`, params) ?? '',
      enabled,
      repeatable: type !== 'task' || !(isRewardedOnce(code, config) || done.has(code)),
      completed: isCheckIn ? state.checkedIn : done.has(code),
      rule: { version, asset, ...config },
      checkIn: isCheckIn ? state : null,
    }
  })
}

/** Returns the one-time tasks that the member has done. */
async function doneOnce(userId: number, rules: readonly RuleRow[], db: Database): Promise<ReadonlySet<string>> {
  const tasks = rules.filter(({ type }) => type === 'task')
  const keys = new Map(tasks.map(({ code }) => [onceRewardKey(code, userId), code]))
  if (keys.size === 0) return new Set()
  const places = tasks.map(() => '?').join(', ')
  const rows = await db.query<{ source_type: string; source_id: string }>(
    `select source_type, source_id from points_source where source_type in (${places}) and source_id in (${places})`,
    [...keys.values(), ...keys.keys()],
  )
  return new Set(rows.map(({ source_type, source_id }) => (keys.get(source_id) === source_type ? source_type : '')))
}

/** Formats an amount of money. Without an ISO 4217 code the number of decimals is unknown, so minor units are shown. */
function amountOf(minor: number, currency: string | undefined, locale: string, texts: Texts): string {
  const isKnown = currency !== undefined && Intl.supportedValuesOf('currency').includes(currency)
  if (!isKnown) {
    const [path, params] = currency === undefined ? ['units', {}] : ['units-of', { currency }]
    const amount = new Intl.NumberFormat(locale).format(minor)
    return texts.find(locale, `tasks.order-reward.${path}`, { amount, ...params }) ?? amount
  }
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency })
  return format.format(minor / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 0))
}

async function checkInOf(userId: number, rules: readonly RuleRow[], parts: TaskDependencies) {
  const today = parts.calendar.dayOf(new Date(parts.clock.now()))
  const last = await parts.checkIns.last(userId)
  const streak = checkInStreakOn(today, last)
  const checkedIn = streak === undefined
  const reached = checkedIn ? (last?.streak ?? 0) : streak - 1
  const rule = rules.find(({ type }) => type === 'check-in')
  const nextPoints = rule === undefined ? 0 : checkInPoints(rule.config, reached + 1)
  return { checkedIn, consecutiveDays: reached, nextPoints }
}
