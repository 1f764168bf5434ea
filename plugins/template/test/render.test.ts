/** Tests that a compiled template renders the same text as Handlebars, within the limits. */

import assert from 'node:assert/strict'
import { throwsWith } from '@plinth/dev/testing'
import fc from 'fast-check'
import Handlebars from 'handlebars'
import t from 'tap'
import { parseSource } from '../src/compile/parse.ts'
import type { TemplateValue } from '../src/contract.ts'
import { escapeHtml, RenderBudget, renderLimits, renderProgram, unescapedText } from '../src/render/render-program.ts'
import { copyPlainVariables, type Variables, valueLimits } from '../src/render/values.ts'

const utc = { locale: 'en', timeZone: 'UTC', now: 0 }

const render = (source: string, variables: Variables, encode = escapeHtml) =>
  renderProgram(parseSource(source, 'content'), copyPlainVariables(variables), encode, new RenderBudget(), utc)
    .map(({ text }) => text)
    .join('')

const engine = Handlebars.create()
engine.unregisterHelper('log')
const byHandlebars = (source: string, variables: Variables) =>
  engine.compile(source)(structuredClone(variables), {
    allowProtoPropertiesByDefault: false,
    allowProtoMethodsByDefault: false,
  })

const names = ['a', 'b', 'items', 'user'] as const
const text = fc.constantFrom('', 'x', '<b> & "q" \'s\' `t` = z', 'line\nline', '中文 🔑', '{{a}}', '$&')
const scalar = fc.oneof(text, fc.integer({ min: -2, max: 2 }), fc.boolean(), fc.constant(null))
const member = fc.letrec<{ value: TemplateValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    // Handlebars prints an object as "[object Object]", also in a list, but the product does not. The templates below
    // therefore print no objects and no lists. Separate tests cover these cases.
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 3 }),
  ),
})).value
const variables = fc.dictionary(fc.constantFrom(...names), member, { maxKeys: 4 })

const path = fc
  .tuple(
    fc.constantFrom('', './', 'this.'),
    fc.array(fc.constantFrom(...names, 'length', 'constructor', '__proto__'), { minLength: 1, maxLength: 2 }),
  )
  .map(([from, parts]) => `${from}${parts.join('.')}`)
/**
 * Placeholders that print only values that are not objects, because Handlebars and the product print objects
 * differently.
 */
const printed = fc.oneof(
  path.map((one) => `{{#if (lookup ${one} "a")}}o{{else}}{{lookup ${one} "length"}}{{/if}}`),
  fc.constantFrom('{{a.length}}', '{{lookup "text" 0}}'),
)
const template = fc.letrec<{ part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3 },
    text.filter((one) => !one.includes('{{')),
    fc.constant('\n  '),
    printed,
    fc
      .tuple(fc.constantFrom('if', 'unless', 'each', 'with'), path, tie('part'), tie('part'))
      .map(([block, of, body, otherwise]) => `{{#${block} ${of}}}${body}{{else}}${otherwise}{{/${block}}}`),
    fc
      .tuple(path, tie('part'))
      .map(([of, body]) => `{{#each ${of}}}{{@index}}{{@key}}{{@first}}{{@last}}${body}{{/each}}`),
    fc
      .tuple(path, tie('part'))
      .map(([of, body]) => `\n{{~#each ${of} as |item at|}}{{at}}{{item.length}}{{this.length}}${body}{{~/each~}}\n`),
    fc.tuple(path, path, tie('part')).map(([one, other, body]) => `{{#if ${one}}}x{{else if ${other}}}${body}{{/if}}`),
    fc.tuple(tie('part'), tie('part')).map(([one, other]) => `${one}${other}`),
  ),
})).part

t.test('the rendered output equals that of Handlebars', async (t) => {
  fc.assert(
    fc.property(template, variables, (source, values) => {
      assert.equal(render(source, values), byHandlebars(source, values))
    }),
    { numRuns: 400 },
  )
  const cases: readonly (readonly [string, Variables])[] = [
    ['{{a}}|{{b}}', { a: '<i> & "x" \'y\' `z` =', b: 0 }],
    ['{{a}}{{b}}{{c}}{{d}}', { a: true, b: false, c: null }],
    [
      '{{#each list}}{{#each this}}{{../../name}}{{/each}}{{/each}}',
      {
        list: [
          [1, 2],
          [3, 4],
        ],
        name: 'n',
      },
    ],
    [
      '{{#each list as |one|}}{{#each one as |two at|}}{{one.length}}{{two}}{{at}}{{/each}}{{/each}}',
      { list: [['p', 'q']] },
    ],
    [
      '{{#with user as |u|}}{{u.name}} {{name}} {{../title}} {{@root.title}}{{/with}}',
      { user: { name: 'Ada' }, title: 'T' },
    ],
    ['{{#each map}}{{@key}}={{this}};{{/each}}', { map: { x: 1, y: 2 } }],
    ['{{#each list}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}', { list: ['a', 'b', 'c'] }],
    ['{{a}},{{list}}', { a: '1', list: [1, 'b', null, [2]] }],
    ['\\{{a}} {{! comment }}{{!-- {{a}} --}}x', { a: 1 }],
    ['{{#if a}}\n  yes\n{{else}}\n  no\n{{/if}}\nend', { a: true }],
    ['a  {{~a~}}  b', { a: 'x' }],
    ['{{[odd name]}} {{user.[first name]}}', { 'odd name': 1, user: { 'first name': 2 } }],
    ['{{#with zero}}z{{else}}e{{/with}}{{#if zero}}z{{else}}e{{/if}}', { zero: 0 }],
    ['{{^if a}}no{{/if}}', { a: false }],
  ]
  t.equal(render('{{a}}', { a: '<&>' }, unescapedText), '<&>', 'plain text is not escaped')
  for (const [source, values] of cases) t.equal(render(source, values), byHandlebars(source, values), source)
})

t.test('no path reaches a prototype, a function or an object that was not passed', async (t) => {
  const reaching = [
    'constructor.name',
    '__proto__',
    '__proto__.a',
    'a.constructor',
    'a.toString',
    'hasOwnProperty',
    'a.__proto__.x',
  ]
  for (const path of reaching) t.equal(render(`[{{${path}}}{{lookup this "constructor"}}]`, { a: 'text' }), '[]', path)
  t.equal(render('{{lookup a "__proto__"}}{{#each __proto__}}x{{/each}}', { a: {} }), '')
  t.equal(render('{{__proto__}}', JSON.parse('{"__proto__": "own"}')), 'own', 'an own member of that name is a value')
  t.equal(render('{{o}}', { o: { a: 1 } }), '', 'an object prints nothing')
})

function rejectionOf(variables: Variables): unknown {
  try {
    return copyPlainVariables(variables)
  } catch (error) {
    return error
  }
}

t.test('only JSON values are accepted', async (t) => {
  class Account {
    name = 'Ada'
    get secret() {
      return 'never'
    }
  }
  let called = false
  const rejected: readonly unknown[] = [
    () => {
      called = true
      return 'x'
    },
    new Date(0),
    new Map([['a', 1]]),
    new Account(),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    10n,
    Symbol('s'),
  ]
  for (const value of rejected) {
    const variables = { fine: 1, wrong: { deep: [value] } } as unknown as Variables
    t.hasStrict(rejectionOf(variables), { code: '400', reason: 'template.value-refused', data: { name: 'wrong' } })
  }
  t.notOk(called, 'a function is not called')
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  t.hasStrict(rejectionOf(cycle as Variables), { reason: 'template.value-refused' })
  t.hasStrict(rejectionOf({ a: 'x'.repeat(valueLimits.characters) }), { reason: 'template.value-refused' })
  t.hasStrict(rejectionOf({ a: Array(valueLimits.values).fill(1) }), { reason: 'template.value-refused' })
  t.same(
    { ...copyPlainVariables({ a: undefined, b: 1 } as unknown as Variables) },
    { b: 1 },
    'undefined is left out, as in JSON',
  )
})

t.test('safeUrl accepts only addresses that navigate somewhere', async (t) => {
  const cases = [
    ['https://a.b/c?d=1&e=2', 'https://a.b/c?d=1&e=2'],
    ['http://a.b', 'http://a.b/'],
    ['mailto:a@b.c', 'mailto:a@b.c'],
    ['tel:+8613800000000', 'tel:+8613800000000'],
    ['HTTPS://A.B', 'https://a.b/'],
    ['javascript:alert(1)', '#'],
    [' java\nscript:alert(1)', '#'],
    ['\u0001javascript:alert(1)', '#'],
    ['data:text/html,x', '#'],
    ['vbscript:x', '#'],
    ['file:///etc/hostname', '#'],
    ['//a.b', '#'],
    ['/path', '#'],
    ['', '#'],
    [`https://a.b/${'x'.repeat(3000)}`, '#'],
  ] as const
  for (const [given, expected] of cases)
    t.equal(render('{{safeUrl u}}', { u: given }, unescapedText), expected, given.slice(0, 40))
  t.equal(
    render('<a href="{{safeUrl u}}">', { u: 'https://a.b/?x="><script>' }),
    '<a href="https://a.b/?x&#x3D;%22%3E%3Cscript%3E">',
  )
  t.equal(render('{{safeUrl u}}{{safeUrl list}}', {}), '##')
})

t.test('a value in the query or fragment of a link stays one part of it', async (t) => {
  const html = (source: string, variables: Variables) =>
    renderProgram(parseSource(source, 'html'), copyPlainVariables(variables), escapeHtml, new RenderBudget(), utc)
      .map(({ text }) => text)
      .join('')
  const q = 'a&admin=1#frag "x" (é)'
  const encoded = 'a%26admin%3D1%23frag%20%22x%22%20%28%C3%A9%29'
  const link = 'https://a.b/?c=1'
  const cases: Readonly<Record<string, string>> = {
    '<a href="https://a.b/?q={{q}}&r=1">': `<a href="https://a.b/?q=${encoded}&r=1">`,
    '<a href="https://a.b/#{{q}}">': `<a href="https://a.b/#${encoded}">`,
    '<a href="?q={{urlPart q}}">': `<a href="?q=${encoded}">`,
    '<a href="{{safeUrl link}}&amp;q={{q}}">': `<a href="https://a.b/?c&#x3D;1&amp;q=${encoded}">`,
    '<a href="https://a.b/?next={{safeUrl link}}">': '<a href="https://a.b/?next=https%3A%2F%2Fa.b%2F%3Fc%3D1">',
    '<a href="mailto:x@a.b?subject={{q}}">': `<a href="mailto:x@a.b?subject=${encoded}">`,
    '<a href="/{{#if q}}?q={{q}}{{/if}}#{{q}}">': `<a href="/?q=${encoded}#${encoded}">`,
    '<a href="https://a.b/{{path}}/x">': '<a href="https://a.b/c/d/x">',
    '<p title="?q={{path}}">{{path}}?{{path}}</p>': '<p title="?q=c/d">c/d?c/d</p>',
    '<a href="https://a.b/?ids={{ids}}&o={{o}}">': '<a href="https://a.b/?ids=1%2C2&o=">',
  }
  const variables = { q, link, path: 'c/d', ids: [1, 2], o: { a: 1 } }
  t.same(Object.fromEntries(Object.keys(cases).map((source) => [source, html(source, variables)])), cases)
  t.equal(render('https://a.b/?q={{urlPart q}}', { q }, unescapedText), `https://a.b/?q=${encoded}`)
  t.equal(render('{{urlPart q}}', { q: '\ud800' }, unescapedText), '%EF%BF%BD')
})

t.test('work and output are limited, whatever is passed', async (t) => {
  const list = Array.from({ length: 9_000 }, () => 1)
  const tooMuch = { name: 'RenderLimitError' }
  const slow = (source: string, variables: Variables) => {
    const begun = performance.now()
    throwsWith(t, () => render(source, variables), tooMuch, source)
    return performance.now() - begun
  }
  const times = [
    slow('{{#each l}}{{#each ../l}}x{{/each}}{{/each}}', { l: list }),
    slow('{{#each l}}{{#each ../l}}{{/each}}{{/each}}', { l: list }),
    slow('{{#each l}}{{#each @root.l}}{{#each @root.l}}{{#each @root.l}}{{/each}}{{/each}}{{/each}}{{/each}}', {
      l: list,
    }),
    slow('{{#each l}}{{@root.t}}{{/each}}', { l: list, t: 'x'.repeat(120_000) }),
    slow('{{#each l}}{{@root.l}}{{/each}}', { l: list }),
    slow('{{#each l}}{{@root.t}}{{/each}}', { l: list, t: '&'.repeat(120_000) }),
    slow(`{{#each l}}${'y'.repeat(20_000)}{{/each}}`, { l: list }),
  ]
  t.comment(`the slowest took ${Math.max(...times).toFixed(1)} ms`)
  t.equal(render('{{#each l}}x{{/each}}', { l: list }).length, list.length)
  const fifth = 'x'.repeat(renderLimits.characters / 5)
  t.equal(render('{{t}}{{t}}{{t}}{{t}}{{t}}', { t: fifth }).length, renderLimits.characters)
  throwsWith(t, () => render('{{t}}{{t}}{{t}}{{t}}{{t}}!', { t: fifth }), tooMuch)
})

t.test('values are written for the reader: dates, numbers, amounts, plurals and lists', async (t) => {
  const noon = '2027-01-15T23:30:00Z'
  const now = Date.parse('2027-01-16T00:00:00Z')
  const forReader = (source: string, values: Variables, locale: string, timeZone = 'UTC') =>
    renderProgram(parseSource(source, 'content'), copyPlainVariables(values), unescapedText, new RenderBudget(), {
      locale,
      timeZone,
      now,
    })
      .map(({ text }) => text)
      .join('')
      // `Intl` uses several kinds of spaces, which change with its data.
      .replace(/\s/g, ' ')
  const items = '{{plural n none="nothing" one="# item" few="# few" many="# many" other="# items"}}'
  const cases: readonly (readonly [source: string, values: Variables, locale: string, zone: string, shown: string])[] =
    [
      ['{{date at}}', { at: noon }, 'en', 'Asia/Shanghai', 'Jan 16, 2027'],
      ['{{date at "long"}}', { at: noon }, 'zh-CN', 'Asia/Shanghai', '2027年1月16日'],
      ['{{date at "short"}}', { at: noon }, 'en-GB', 'UTC', '15/01/2027'],
      ['{{date day}}', { day: '2027-01-15' }, 'en', 'America/New_York', 'Jan 15, 2027'],
      ['{{time at "short"}}', { at: noon }, 'en', 'Europe/Berlin', '12:30 AM'],
      [
        '{{dateTime at "full"}}',
        { at: Date.parse(noon) },
        'de',
        'Europe/Berlin',
        'Samstag, 16. Januar 2027 um 00:30:00 MEZ',
      ],
      ['{{number n}}', { n: '1234567.125' }, 'de', 'UTC', '1.234.567,125'],
      ['{{number n}}', { n: '12345678901234567890123.5' }, 'en', 'UTC', '12,345,678,901,234,567,890,123.5'],
      ['{{money a "EUR"}}', { a: '1234.5' }, 'fr', 'UTC', '1 234,50 €'],
      ['{{money a c}}', { a: 1234.5, c: 'JPY' }, 'ja', 'UTC', '￥1,234.5'],
      ['{{relative at}}', { at: noon }, 'en', 'UTC', '30 minutes ago'],
      ['{{relative at}}', { at: '2027-01-18T00:00:00Z' }, 'zh-CN', 'UTC', '后天'],
      ['{{list names}}', { names: ['Ada', 'Bo', 'Cy'] }, 'en', 'UTC', 'Ada, Bo, and Cy'],
      ['{{list names "or"}}', { names: ['Ada', 'Bo'] }, 'zh-CN', 'UTC', 'Ada或Bo'],
      [items, { n: 0 }, 'en', 'UTC', 'nothing'],
      [items, { n: 1 }, 'en', 'UTC', '1 item'],
      [items, { n: '1234' }, 'en', 'UTC', '1,234 items'],
      [items, { n: 22 }, 'pl', 'UTC', '22 few'],
      [items, { n: 112 }, 'pl', 'UTC', '112 many'],
      [items, { n: 1.5 }, 'pl', 'UTC', '1,5 items'],
      [items, { n: 2 }, 'zh-CN', 'UTC', '2 items'],
      ['{{plural n one=a other=b}}', { n: 2, a: 'x', b: '# of {{n}} $&' }, 'en', 'UTC', '2 of {{n}} $&'],
      ['{{date}} {{list}} {{money}}', { date: 'd', list: ['l'], money: 'm' }, 'en', 'UTC', 'd l m'],
      [
        '{{date at}}|{{number at}}|{{money at "XXXX"}}|{{relative at}}|{{list at}}',
        { at: 'soon' },
        'en',
        'UTC',
        'soon|soon|soon|soon|soon',
      ],
      ['{{number n}}|{{date n}}', { n: '1e999999999' }, 'en', 'UTC', '1e999999999|1e999999999'],
      ['{{date n}}|{{date n}}', { n: 9e15 }, 'en', 'UTC', '9000000000000000|9000000000000000'],
      ['{{date gone}}|{{plural gone other="#"}}|{{list gone}}', {}, 'en', 'UTC', '||'],
    ]
  t.same(
    cases.map(([source, values, locale, zone]) => [source, locale, forReader(source, values, locale, zone)]),
    cases.map(([source, , locale, , shown]) => [source, locale, shown]),
  )
})
