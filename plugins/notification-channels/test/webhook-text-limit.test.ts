import fc from 'fast-check'
import t from 'tap'
import { secretPartsOfUrl } from '../src/webhook/masking.ts'
import { buildFittingBody, measureText, truncateToFit } from '../src/webhook/texts.ts'

const family = '👨‍👩‍👧‍👦'
const texts = fc
  .array(fc.constantFrom('a', '汉', '🎉', 'e\u0301', family, '\r\n', '"', '\\', '*'), { maxLength: 60 })
  .map((parts) => parts.join(''))
const units = fc.constantFrom('bytes', 'utf16', 'characters')
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const split = (text: string) => Array.from(graphemes.segment(text), ({ segment }) => segment)

t.test('a text is cut between graphemes, and no shorter than necessary', async (t) => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 0, max: 80 }), units, (text, max, unit) => {
      const fits = (candidate: string) => measureText(candidate, unit) <= max
      const cut = truncateToFit(text, 2 * max, fits)
      t.ok(fits(cut), `${measureText(cut, unit)} of ${max} ${unit}`)
      if (fits(text) && text.length <= 2 * max) return t.equal(cut, text)
      const whole = split(text)
      const [first = ''] = whole
      const firstFits = 2 * max >= first.length && fits(`${first}…`)
      if (!firstFits) return t.ok(first.startsWith(cut.slice(0, -1)) && cut.isWellFormed(), 'a part of one grapheme')
      const kept = cut === '' ? 0 : split(cut.slice(0, -1)).length
      t.equal(cut, kept === 0 ? '' : `${whole.slice(0, kept).join('')}…`, 'the beginning, in whole graphemes')
      const longer = `${whole.slice(0, kept + 1).join('')}…`
      t.ok(!fits(longer) || longer.length > 2 * max, 'one more would not fit')
    }),
  )
})

t.test('one grapheme that is too long is cut between code points', (t) => {
  const tall = `e${'\u0301'.repeat(500)}🎉`
  t.equal(
    truncateToFit(tall, 200, (text) => measureText(text, 'characters') <= 100),
    `${tall.slice(0, 99)}…`,
  )
  t.equal(
    truncateToFit('🎉', 4, (text) => measureText(text, 'bytes') <= 3),
    '',
  )
  t.end()
})

t.test('the payload fits whatever a provider does with the texts; the content is cut before the subject', (t) => {
  const build = (subject: string, content: string) => ({ text: `${subject}\n${content.replaceAll('*', '\\*')}` })
  const limit = { max: 40, unit: 'bytes', member: 'text' } as const
  fc.assert(
    fc.property(texts, texts, (subject, content) => {
      const { body, truncated } = buildFittingBody(build, { subject, content }, { limit })
      t.ok(Buffer.byteLength(body.text) <= 40)
      t.equal(truncated, body.text !== build(subject, content).text)
      const fitsAlone = Buffer.byteLength(`${subject}\n`) <= 40
      if (fitsAlone) t.ok(body.text.startsWith(`${subject}\n`))
    }),
  )
  const whole = buildFittingBody(
    build,
    { subject: '', content: '汉'.repeat(20) },
    { limit: { max: 50, unit: 'bytes' } },
  )
  t.ok(Buffer.byteLength(JSON.stringify(whole.body)) <= 50, 'without a member the payload is measured')
  t.end()
})

t.test('possibly secret parts of an address: query values, and path segments that are no words', (t) => {
  const parts = secretPartsOfUrl('https://x.example/hooks/robot/SCT12abc.send?access_token=a%2Bb%2Fc12&v=1')
  for (const part of ['SCT12abc', 'a%2Bb%2Fc12', 'a+b/c12']) t.ok(parts.includes(part), part)
  for (const word of ['hooks', 'robot', '1']) t.notOk(parts.includes(word), word)
  t.end()
})
