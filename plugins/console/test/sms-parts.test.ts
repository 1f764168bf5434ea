import t from 'tap'
import { smsSize } from '../web/admin/own/compose/sms-parts.ts'

t.test('a text message is counted in parts of its alphabet', async (t) => {
  const sizes = (text: string) => Object.values(smsSize(text))
  t.strictSame(sizes(''), [0, 1, 160])
  t.strictSame(sizes('a'.repeat(160)), [160, 1, 160])
  t.strictSame(sizes('a'.repeat(161)), [161, 2, 153])
  t.strictSame(sizes('a'.repeat(307)), [307, 3, 153])
  t.strictSame(sizes('5 €'), [4, 1, 160], 'the euro sign takes two places')
  t.strictSame(sizes('茶'.repeat(70)), [70, 1, 70])
  t.strictSame(sizes('茶'.repeat(71)), [71, 2, 67])
  t.strictSame(sizes('🍵'), [2, 1, 70])
})
