import { fillText, fitTextToColumn } from '@plinth/kernel'
import { maskedSummary } from '@plinth/kernel/host'
import fc from 'fast-check'
import t from 'tap'

t.test('placeholders of a text are filled once, and a placeholder without a value stays', async (t) => {
  t.equal(fillText('{{a}}, {{b}} and {{a}}', { a: 1, b: '$&' }), '1, $& and 1')
  t.equal(
    fillText('{{a}} {{missing}} {{constructor}} {a}', { a: '{{b}}', b: 'x' }),
    '{{b}} {{missing}} {{constructor}} {a}',
  )
  fc.assert(
    fc.property(fc.string(), fc.string(), (value, rest) => fillText('{{x}}', { x: value }) + rest === value + rest),
  )
})

t.test(
  'a text for a column contains no NUL and no half character, and is cut to the length of the column',
  async (t) => {
    t.equal(fitTextToColumn('a\0b', 10), 'ab')
    t.equal(fitTextToColumn('\ud800x', 10), '\ufffdx')
    t.equal(fitTextToColumn('\ud83d\0\ude00aa', 3), '\ufffd\ufffda', 'two halves that a NUL divides are no character')
    t.equal(fitTextToColumn('😀😀😀', 2), '😀😀')
    t.equal(fitTextToColumn('abc', 0), '')
    const any = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.constantFrom('a', '\0', '\ud83d', '\ude00')).map((all) => all.join('')),
    )
    fc.assert(
      fc.property(any, fc.nat(12), (text, length) => {
        const fitting = fitTextToColumn(text, length)
        const whole = text.toWellFormed().replaceAll('\0', '')
        return (
          fitting.isWellFormed() && fitting.length <= 2 * length && ([...whole].length > length || fitting === whole)
        )
      }),
    )
  },
)

t.test('a summary is masked in texts and lists, and is otherwise unchanged', async (t) => {
  const summary = { name: 'my secret', count: 3, on: true, none: null, list: ['secret', 1] } as const
  const redact = (text: string) => text.replaceAll('secret', '***')
  t.strictSame(maskedSummary(summary, redact), { name: 'my ***', count: 3, on: true, none: null, list: ['***', 1] })
})
