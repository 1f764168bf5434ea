import type { Database } from '@plinth/database'
import { nullable, Type, text } from '@plinth/http'
import type { Static } from 'typebox'
import { checkInPoints, streakOn } from '../check-in/streak.ts'
import { never, RuleRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { ruleSettings } from '../rules/rule-types.ts'

/** Rules that a list of tasks has at most. */
const mostTasks = 200

const checkInState = Type.Object({
  checkedIn: Type.Boolean({ description: 'Whether the member has checked in today.' }),
  consecutiveDays: Type.Integer({ minimum: 0, description: 'Days in a row, today included once checked in.' }),
  nextPoints: Type.Integer({ minimum: 0, description: 'Points of the next check-in, if no day is missed.' }),
})

export const taskView = Type.Object({
  code: text,
  type: Type.Enum(['check-in', 'order', 'task']),
  displayName: text,
  displayTitle: text,
  displayDescription: text,
  enabled: Type.Boolean(),
  repeatable: Type.Boolean({ description: 'Whether it is rewarded more than once.' }),
  completed: Type.Boolean({ description: 'Whether nothing is left to do: for ever, or today for check-in.' }),
  rule: Type.Object({ version: Type.Integer(), asset: text, ...ruleSettings.properties }),
  checkIn: nullable(checkInState, { description: 'For check-in only.' }),
})
export type TaskView = Static<typeof taskView>

/** Tasks that a member is rewarded for once, with the keys of their sources. */
const onceKeys: Readonly<Record<string, (userId: number) => string>> = {
  'profile-completion': (userId) => `${userId}:profile-completion`,
  'first-order': (userId) => `${userId}:mall:first-order`,
}
/** The tasks of document 1 in its order; others follow by their codes. */
const order = ['check-in', 'order-reward', 'profile-completion', 'first-order', 'review-reward']

export type TaskParts = Pick<Parts, 'db' | 'clock' | 'checkIns' | 'calendar' | 'texts'>

/** What a member is rewarded for, and what of it is done. */
export async function tasksOf(userId: number, locale: string, parts: TaskParts): Promise<TaskView[]> {
  const rules = await parts.db
    .fork()
    .find(
      RuleRow,
      { activeTo: never, type: { $in: ['check-in', 'order', 'task'] } },
      { orderBy: { code: 'asc' }, limit: mostTasks },
    )
  const place = ({ code }: RuleRow) => (order.includes(code) ? order.indexOf(code) : order.length)
  rules.sort((a, b) => place(a) - place(b) || (a.code < b.code ? -1 : 1))
  const done = await doneOnce(userId, parts.db)
  const state = await checkInOf(userId, rules, parts)
  return rules.map((rule) => {
    const { code, type, enabled, version, asset, config } = rule
    const { points = 0, perAmount = 1 } = config
    const params = { points, amount: perAmount / 100 }
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
      repeatable: onceKeys[code] === undefined,
      completed: isCheckIn ? state.checkedIn : done.has(code),
      rule: { version, asset, ...config },
      checkIn: isCheckIn ? state : null,
    }
  })
}

async function doneOnce(userId: number, db: Database): Promise<ReadonlySet<string>> {
  const done = new Set<string>()
  for (const [code, keyOf] of Object.entries(onceKeys)) {
    const sql = 'select id from points_source where source_type = ? and source_id = ?'
    if ((await db.query(sql, [code, keyOf(userId)])).length > 0) done.add(code)
  }
  return done
}

async function checkInOf(userId: number, rules: readonly RuleRow[], parts: TaskParts) {
  const today = parts.calendar.dayOf(new Date(parts.clock.now()))
  const last = await parts.checkIns.last(userId)
  const streak = streakOn(today, last)
  const checkedIn = streak === undefined
  const reached = checkedIn ? (last?.streak ?? 0) : streak - 1
  const rule = rules.find(({ type }) => type === 'check-in')
  const nextPoints = rule === undefined ? 0 : checkInPoints(rule.config, reached + 1)
  return { checkedIn, consecutiveDays: reached, nextPoints }
}
