/** Tests numbers of axes, and the width of an axis. */
import t from 'tap'
import { axisWidth } from '../web/admin/charts/axis-width.ts'
import { formatsOf } from '../web/admin/pages/formats.ts'

t.test('an axis shows large counts in the short form of the language', async (t) => {
  const [english, chinese] = [formatsOf('en', 'UTC'), formatsOf('zh-CN', 'UTC')]
  t.strictSame(
    [0, 5, 2_500, 500_000, 1_000_000, 1_250_000].map((value) => english.axis(value)),
    ['0', '5', '2.5K', '500K', '1M', '1.25M'],
  )
  t.strictSame(
    [5, 500_000, 1_000_000, 120_000_000].map((value) => chinese.axis(value)),
    ['5', '50万', '100万', '1.2亿'],
  )
  t.equal(english.axis(20_000, 'ms'), '20 sec')
  t.equal(english.count(90, 's'), '1.5 min')
  t.equal(english.axis(1024, 'bytes'), '1 KiB')
})

t.test('an axis is as wide as its longest label', async (t) => {
  const widthOf = (text: string) => 7 * text.length
  t.equal(axisWidth([], widthOf), 40)
  t.equal(axisWidth(['0', '5'], widthOf), 40)
  t.equal(axisWidth(['0', '500,000', '1,000,000'], widthOf), 7 * 9 + 20)
})

t.test('a time of day is in the time zone of the page', async (t) => {
  const moment = new Date('2026-03-01T13:58:53Z')
  t.equal(formatsOf('en', 'Asia/Shanghai').clock(moment).replace(/\s/g, ' '), '9:58:53 PM')
  t.equal(formatsOf('zh-CN', 'Asia/Shanghai').clock(moment), '21:58:53')
})
