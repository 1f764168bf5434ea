/** Adds the orders, messages and points of the last weeks to a shop, so that figures over time have something to show. */
import { database, firstIdAt, insertRows } from '@plinth/database'
import { DayRow } from '../../plugins/member-points/src/entities.ts'
import { PaymentOrderRow } from '../../plugins/money/src/payments/entities.ts'
import { SendLogRow } from '../../plugins/notification/src/entities.ts'
import type { startWithRows } from './back-office-rows.ts'

const dayMs = 86_400_000
const days = 60

type Running = Awaited<ReturnType<typeof startWithRows>>['running']

/** Adds rows for each of the last 60 days except today. The numbers depend only on the number of the day. */
export async function addShopHistory(running: Running, asset = 'points:mall') {
  const db = running.service(database)
  const today = Date.now()
  const dayNumbers = Array.from({ length: days }, (_, index) => index + 1)
  let serial = 0
  const idAt = (ms: number) => firstIdAt(ms) + (serial++ % 16)
  const orders = dayNumbers.flatMap((ago) =>
    Array.from({ length: 3 + (ago % 5) }, (_, index) => {
      const at = today - ago * dayMs + index * 60_000
      const isPaid = index % 4 !== 3
      return {
        id: idAt(at),
        outTradeNo: `OLD-${ago}-${index}`,
        fingerprint: `${ago}-${index}`,
        provider: 'test',
        scene: 'mall',
        userId: null,
        asset: index % 3 === 2 ? 'usd' : 'cny',
        amount: 9_900 + ((ago * 37 + index * 11) % 50) * 100,
        status: isPaid ? ('success' as const) : ('pending' as const),
        refundedAmount: 0,
        version: 1,
        createdAt: at,
        paidAt: isPaid ? at + 5_000 : null,
      }
    }),
  )
  await insertRows(db, PaymentOrderRow, orders)
  const sends = dayNumbers.flatMap((ago) =>
    Array.from({ length: 4 + (ago % 7) }, (_, index) => {
      const at = today - ago * dayMs + index * 90_000
      return {
        id: idAt(at),
        channel: ['mail', 'database', 'webhook'][index % 3] ?? 'mail',
        status: index % 6 === 5 ? ('failed' as const) : ('success' as const),
        messageId: `old-${ago}-${index}`,
        recipients: [],
        recipientCount: 1,
        subject: 'Your order',
        restorable: false,
        attempt: 1,
        createdAt: new Date(at),
      }
    }),
  )
  await insertRows(db, SendLogRow, sends)
  const rows = dayNumbers.map((ago) => ({
    id: db.newId(),
    asset,
    day: new Date(today - ago * dayMs).toISOString().slice(0, 10),
    granted: 400 + ((ago * 53) % 300),
    consumed: 150 + ((ago * 29) % 200),
    reversed: 0,
    expired: ago % 10 === 0 ? 40 : 0,
    returned: 0,
  }))
  await insertRows(db, DayRow, rows)
}
