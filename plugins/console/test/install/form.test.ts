import t from 'tap'
import {
  brokenRule,
  type Field,
  fixingPlace,
  formOf,
  groupsOf,
  hintOf,
  initialValues,
  isVisible,
  withChangedValue,
} from '../../web/install/install-form.ts'
import type { FieldDefinition, FormSchema } from '../../web/install/wire.ts'
import { bestLanguage } from '../../web/text/language.ts'

const field = (name: string, given: Partial<FieldDefinition> = {}): FieldDefinition => ({
  name,
  label: name,
  description: '',
  type: 'string',
  required: false,
  candidates: [],
  hints: { input: 'text' },
  ...given,
})
const choice = (value: string) => ({ value, label: value })
const onServer = { field: 'database.type', values: ['postgresql', 'mysql'] }
const schema: FormSchema = {
  groups: [
    {
      code: 'site',
      label: 'Site',
      description: '',
      fields: [
        field('name', { required: true, hints: { input: 'text', maxLength: 5 } }),
        field('url'),
        field('timeZone', { candidates: [choice('UTC'), choice('Asia/Shanghai')], hints: { input: 'combobox' } }),
        field('defaultLocale', { candidates: [choice('en'), choice('zh-CN')], hints: { input: 'select' } }),
      ],
    },
    {
      code: 'administrator',
      label: '',
      description: '',
      fields: [field('password', { required: true }), field('confirmPassword', { required: true })],
    },
    {
      code: 'database',
      label: '',
      description: '',
      fields: [
        field('type', {
          candidates: [choice('h2'), choice('postgresql'), choice('mysql')],
          hints: { input: 'select' },
        }),
        field('host', { required: true, hints: { input: 'text', visibleWhen: onServer } }),
        field('port', {
          type: 'integer',
          hints: {
            input: 'number',
            minimum: 1,
            maximum: 65_535,
            visibleWhen: onServer,
            follows: { field: 'database.type', values: { postgresql: 5432, mysql: 3306 } },
          },
        }),
      ],
    },
    {
      code: 'cache',
      label: '',
      description: '',
      fields: [field('enabled', { type: 'boolean', hints: { input: 'switch' } })],
    },
  ],
}
const groups = groupsOf(schema)
const fields = groups.flatMap((group) => group.fields)
const named = (path: string) => fields.find((candidate) => candidate.path === path) as Field
const defaults = {
  site: { name: '', url: '', defaultLocale: 'en', timeZone: 'UTC' },
  database: { type: 'h2', host: '', port: null },
  cache: { enabled: false },
}
const proposals = { url: 'https://shop.example/ctx', language: 'zh-CN', timeZone: 'Asia/Shanghai' }

t.test('I-096 I-099 the form starts with the running configuration and the suggestions of the page', async (t) => {
  const values = initialValues(groups, defaults, proposals)
  t.match(values, {
    'site.name': '',
    'site.url': 'https://shop.example/ctx',
    'site.defaultLocale': 'zh-CN',
    'site.timeZone': 'Asia/Shanghai',
    'database.type': 'h2',
    'database.port': '',
    'administrator.password': '',
    'cache.enabled': false,
  })
  t.equal(initialValues(groups, defaults, { ...proposals, timeZone: 'Mars/Olympus' })['site.timeZone'], 'UTC')
  const kept = {
    ...defaults,
    site: { name: 'Shop', url: 'https://kept.example', defaultLocale: 'en', timeZone: 'UTC' },
  }
  t.match(initialValues(groups, kept, proposals), {
    'site.url': 'https://kept.example',
    'site.defaultLocale': 'en',
    'site.timeZone': 'UTC',
  })
})

t.test(
  'I-113 fields of a server are shown for its type, propose its usual port and are not sent otherwise',
  async (t) => {
    let values = initialValues(groups, defaults, proposals)
    t.notOk(isVisible(named('database.host'), values))
    t.same(formOf(groups, values)['database'], { type: 'h2' })
    values = withChangedValue(groups, values, 'database.type', 'postgresql')
    t.ok(isVisible(named('database.host'), values))
    t.equal(values['database.port'], '5432')
    values = withChangedValue(groups, values, 'database.type', 'mysql')
    t.equal(values['database.port'], '3306')
    values = withChangedValue(
      groups,
      withChangedValue(groups, values, 'database.port', '3307'),
      'database.type',
      'postgresql',
    )
    t.equal(values['database.port'], '3307', 'what somebody typed stays')
    t.same(formOf(groups, values)['database'], { type: 'postgresql', host: '', port: 3307 })
    t.same(formOf(groups, { ...values, 'database.port': '' })['database'], { type: 'postgresql', host: '', port: null })
  },
)

t.test('I-109 I-110 hints appear early and are never stricter than the rule of the server', async (t) => {
  const hint = (path: string, value: string, others = {}) => hintOf(named(path), { ...others, [path]: value })
  t.same(hint('site.name', ''), { keyword: 'required' })
  t.same(hint('site.name', 'Shop'), undefined)
  t.same(hint('site.name', 'Emporium'), { keyword: 'maxLength', limit: 5 })
  t.same(hint('site.url', 'no address, the server will say so'), undefined)
  t.same(hint('database.port', '70000'), { keyword: 'maximum', limit: 65_535 })
  t.same(hint('database.port', '0'), { keyword: 'minimum', limit: 1 })
  t.same(hint('database.port', '5e3'), { keyword: 'integer' })
  t.same(hint('database.port', ' 5432 '), undefined)
  t.same(hint('administrator.confirmPassword', 'b', { 'administrator.password': 'a' }), { keyword: 'confirm' })
  t.same(hint('administrator.confirmPassword', 'a', { 'administrator.password': 'a' }), undefined)
  t.same(hintOf(named('cache.enabled'), { 'cache.enabled': false }), undefined)
})

t.test('the length of a text is counted as on the server', async (t) => {
  t.same(brokenRule('\u{1F3DB}'.repeat(5), { type: 'string', maxLength: 5 }), undefined)
  t.same(brokenRule('\u{1F3DB}'.repeat(6), { type: 'string', maxLength: 5 }), { keyword: 'maxLength', limit: 5 })
})

t.test('I-201 P42 the language is the best match of the browser languages, or English', async (t) => {
  const cases = {
    'zh-CN': 'zh-CN',
    'zh-Hans-SG': 'zh-CN',
    'zh-TW': 'zh-CN',
    'zh-Hans-CN': 'zh-CN',
    'en-GB': 'en',
    'pt-BR': 'en',
    fr: 'en',
    'fr,zh': 'zh-CN',
    'fr,en-US,zh': 'en',
    '': 'en',
  }
  for (const [wishes, expected] of Object.entries(cases)) t.equal(bestLanguage(wishes.split(',')), expected, wishes)
  t.equal(bestLanguage([]), 'en')
  t.equal(bestLanguage(['-;='.repeat(4_000)]), 'en', 'garbage')
})

t.test('a value of another source is fixed, or only while another field has a value', async (t) => {
  const place = 'environment variable X'
  const places = [undefined, { place }, { place, condition: onServer }].map((fixed) => {
    const definition = field('host', fixed === undefined ? {} : { fixed })
    const values = (type: string) => ({ 'database.type': type })
    return ['h2', 'mysql'].map((type) => fixingPlace({ ...definition, path: 'database.host' }, values(type)))
  })
  t.strictSame(places, [
    [undefined, undefined],
    [place, place],
    [undefined, place],
  ])
})
