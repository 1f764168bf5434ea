import t from 'tap'
import { createReader, createTranslate, storedSentence } from '../src/texts.ts'

const read = createReader(createTranslate(undefined), 'en')

t.test('a stored sentence stays readable, also if a masked secret made it invalid', async (t) => {
  const sentence = { text: 'step.done', params: { reason: 'host "db" of C:\\data is not found' } }
  const stored = JSON.stringify({ en: 'Cannot reach "db" of C:\\data.', ...sentence })
  t.equal(read(stored), 'Cannot reach "db" of C:\\data.', 'the English text of an unknown sentence')
  t.equal(read(stored.replace('"params":{', '***')), 'Cannot reach "db" of C:\\data.')
  t.equal(read('{"en":***'), '{"en":***', 'nothing is left to show')
  t.equal(read('Installed.'), 'Installed.', 'a sentence of an earlier release')
  t.equal(read(storedSentence({ text: 'nothing' })), '')
  const former = { text: 'check.required', params: { field: { text: 'field.site.name.label' } } }
  const parts = { text: 'failure.checks', params: { reason: [former] } }
  t.equal(
    read(JSON.stringify({ en: 'Name is required.', ...parts })),
    'Name is required.',
    'a part has no text any more',
  )
  const kept = { text: 'failure.checks', params: { reason: [{ text: 'check.password-mismatch' }] } }
  const withoutSpaces = (_: string, name: string) => (name === 'result.between' ? '' : name)
  t.equal(createReader(withoutSpaces, 'zh-CN')(storedSentence(kept)), 'failure.checks')
})
