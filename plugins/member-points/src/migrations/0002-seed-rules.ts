import { defineChangeSet } from '@plinth/migrations'

/** First rules, valid from time 0. Operators may change them. */
const seeds: readonly (readonly [code: string, type: string, config: object])[] = [
  ['check-in', 'check-in', { points: 5, cycleDays: 7, bonuses: [{ day: 7, points: 30 }] }],
  ['order-reward', 'order', { points: 1, perAmount: 100, recovery: 'none', recoverExpired: false }],
  ['profile-completion', 'task', { points: 50 }],
  ['first-order', 'task', { points: 100 }],
  ['review-reward', 'task', { points: 10 }],
  ['marketing-lottery', 'lottery', {}],
  ['manual-adjustment', 'manual', {}],
  ['expiry', 'expiry', { expiresInDays: 365, expiringSoonDays: 30 }],
]

export const seedRules = defineChangeSet({
  id: '0002-seed-rules',
  up: () => [],
  data: async ({ db, newId, now }) => {
    const created = new Date(now())
    const rows = seeds.map(([code, type, config]) => ({
      id: newId(),
      code,
      version: 1,
      type,
      asset: 'points:mall',
      enabled: true,
      config: JSON.stringify(config),
      active_from: 0,
      active_to: Number.MAX_SAFE_INTEGER,
      created_at: created,
    }))
    await db.insertInto('points_rule').values(rows).execute()
  },
})
