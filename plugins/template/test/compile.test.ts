/** Tests which template sources are valid, and the reported position of errors in invalid ones. */
import { omitUndefined } from '@plinth/kernel'
import t from 'tap'
import { compileTemplate } from '../src/compile/compile.ts'
import { type HtmlFormat, type SourceRule, sourceLimits } from '../src/compile/source.ts'

interface Fields {
  readonly subject?: string
  readonly content?: string
  readonly html?: string
  readonly htmlFormat?: HtmlFormat
  readonly locale?: string
}
const source = (fields: Fields) => ({
  subject: fields.subject ?? 's',
  content: fields.content ?? 'c',
  html: fields.html ?? null,
  htmlFormat: fields.html === undefined ? null : (fields.htmlFormat ?? 'html'),
  locale: fields.locale ?? null,
})
const problemOf = async (fields: Parameters<typeof source>[0]) => (await compileTemplate(source(fields))).fault
const programOf = async (fields: Parameters<typeof source>[0]) => {
  const { compiled, fault } = { compiled: undefined, ...(await compileTemplate(source(fields))) }
  if (compiled === undefined) throw new Error(JSON.stringify(fault))
  return compiled
}

t.test('unescaped output is rejected in every part, with its position', async (t) => {
  for (const raw of ['{{{x}}}', '{{&x}}', '{{{ lookup a "b" }}}', '{{~{x}~}}']) {
    t.match(await problemOf({ content: `one\n  two ${raw}` }), {
      field: 'content',
      rule: 'raw-output',
      line: 2,
      column: 7,
      near: raw,
    })
    t.match(await problemOf({ subject: raw }), { field: 'subject', rule: 'raw-output', line: 1, column: 1 })
    t.match(await problemOf({ html: `<p>${raw}</p>` }), { field: 'html', rule: 'raw-output', column: 4 })
  }
  t.match(await problemOf({ html: `<mjml><mj-body>\n<mj-raw>{{{x}}}</mj-raw></mj-body></mjml>`, htmlFormat: 'mjml' }), {
    rule: 'raw-output',
    near: '{{{x}}}',
  })
})

t.test('only the listed helpers are allowed, with the arguments that they accept', async (t) => {
  const rejected: readonly (readonly [string, SourceRule])[] = [
    ['{{log x}}', 'helper-unknown'],
    ['{{#log x}}{{/log}}', 'helper-unknown'],
    ['{{helperMissing x}}', 'helper-unknown'],
    ['{{#items}}x{{/items}}', 'helper-unknown'],
    ['{{^items}}x{{/items}}', 'helper-unknown'],
    ['{{#blockHelperMissing x}}{{/blockHelperMissing}}', 'helper-unknown'],
    ['{{{{raw}}}} {{x}} {{{{/raw}}}}', 'helper-unknown'],
    ['{{x y}}', 'helper-unknown'],
    ['{{lookup (log x) y}}', 'helper-unknown'],
    ['{{lookup (x) y}}', 'helper-unknown'],
    ['{{if x}}', 'helper-unknown'],
    ['{{#lookup x y}}{{/lookup}}', 'helper-unknown'],
    ['{{x a=1}}', 'helper-values'],
    ['{{lookup x}}', 'helper-values'],
    ['{{safeUrl}}', 'helper-values'],
    ['{{safeUrl a b}}', 'helper-values'],
    ['{{urlPart}}', 'helper-values'],
    ['{{lookup x y a=1}}', 'helper-values'],
    ['{{date x "tiny"}}', 'helper-values'],
    ['{{date x "short" y}}', 'helper-values'],
    ['{{date x zone="UTC"}}', 'helper-values'],
    ['{{money x}}', 'helper-values'],
    ['{{list x "nor"}}', 'helper-values'],
    ['{{plural x}}', 'helper-values'],
    ['{{plural x one="a"}}', 'helper-values'],
    ['{{plural x other="a" other="b"}}', 'helper-values'],
    ['{{plural x other="a" some="b"}}', 'helper-values'],
    ['{{lookup (date) y}}', 'helper-values'],
    ['{{#date x}}{{/date}}', 'helper-unknown'],
    ['{{#if}}x{{/if}}', 'helper-values'],
    ['{{#if a b}}x{{/if}}', 'helper-values'],
    ['{{#if a includeZero=true}}x{{/if}}', 'helper-values'],
    ['{{#if a as |b|}}x{{/if}}', 'helper-values'],
    ['{{#each a as |b c d|}}x{{/each}}', 'helper-values'],
    ['{{> partial}}', 'not-allowed'],
    ['{{#> layout}}x{{/layout}}', 'not-allowed'],
    ['{{* decorator}}', 'not-allowed'],
    ['{{#*inline "a"}}x{{/inline}}', 'not-allowed'],
    ['{{"text"}}', 'not-allowed'],
    ['{{@root.x}}{{@level}}', 'not-allowed'],
    ['{{@index}}', 'not-allowed'],
    ['{{../x}}', 'not-allowed'],
    ['{{#each a}}{{../../x}}{{/each}}', 'not-allowed'],
    ['{{#if a}}{{../x}}{{/if}}', 'not-allowed'],
    ['{{x', 'syntax'],
    ['{{#if a}}', 'syntax'],
    ['{{#if a}}{{/each}}', 'syntax'],
    ['{{#each a}}x{{else}}y{{else}}z{{/each}}', 'syntax'],
  ]
  for (const [text, rule] of rejected)
    t.match(await problemOf({ content: text }), { rule, field: 'content', line: 1 }, text)
  t.match(
    await problemOf({ content: 'one\n\n{{#if a}}\n{{/each}}' }),
    { rule: 'syntax', line: 3 },
    'the parser says where',
  )
})

t.test('size and depth of a source are limited', async (t) => {
  const nested = (depth: number) => `${'{{#if a}}'.repeat(depth)}x${'{{/if}}'.repeat(depth)}`
  t.equal(await problemOf({ content: nested(sourceLimits.depth) }), undefined)
  t.match(await problemOf({ content: nested(sourceLimits.depth + 1) }), { rule: 'too-deep' })
  t.match(await problemOf({ content: '{{a}}'.repeat(sourceLimits.placeholders + 1) }), { rule: 'too-many' })
})

t.test('in HTML a value is in text or in quotes, and nowhere else', async (t) => {
  const allowed = [
    '<p class="{{a}}">{{a}}</p>',
    '<p title=\'a {{a}} b\' {{#if a}}class="x"{{/if}}>x</p>',
    '<a href="{{safeUrl a}}">x</a><a href="https://a.b/{{a}}?c={{a}}">x</a><img src="/x/{{a}}">',
    '<a href=" {{safeUrl a}}">x</a><img src="\t{{! }}\n{{safeUrl a}}">',
    '<a href="mailto:{{a}}">x</a><a href="{{#if a}}{{safeUrl a}}{{else}}https://a.b{{/if}}">x</a><a href="{{safeUrl a}}?{{b}}">x</a>',
    '<table>{{#each a}}<tr><td>{{this}}</td></tr>{{else}}<tr><td>-</td></tr>{{/each}}</table>',
    '<!DOCTYPE html><html><head><title>{{a}}</title><style>p > a { color: red }</style></head><body>a < b {{a}}</body></html>',
    '<!-- plain --><!--[if mso]><v:rect title="{{a}}"><![endif]-->x<!--[if !mso]><!-->{{a}}<!--<![endif]-->',
    '<input disabled><br/><p data-x = "{{a}}">x</p>',
    '<meta charset="utf-8"><meta http-equiv="Content-Type" content="text/html; charset={{a}}">',
    '<link rel="stylesheet" href="https://a.b/mail.css"><a href="?a=1&amp;b=2">x</a>',
  ]
  for (const html of allowed) t.equal(await problemOf({ html }), undefined, html)
  const rejected: readonly (readonly [string, SourceRule])[] = [
    ['<p class={{a}}>x</p>', 'unquoted-attribute'],
    ['<p class=x{{a}}>x</p>', 'unquoted-attribute'],
    ['<td width=100>x</td>', 'unquoted-attribute'],
    ['<p class={{#if a}}"x"{{/if}}>x</p>', 'unquoted-attribute'],
    ['<p {{a}}>x</p>', 'attribute-name'],
    ['<p {{a}}="x">x</p>', 'attribute-name'],
    ['<p da{{a}}="x">x</p>', 'attribute-name'],
    ['<{{a}}>x', 'no-value-here'],
    ['<h{{a}}>x', 'attribute-name'],
    ['</{{a}}>', 'no-value-here'],
    ['<!-- {{a}} -->', 'no-value-here'],
    ['<!-- {{#if a}}x{{/if}} -->', 'no-value-here'],
    ['<!DOCTYPE {{a}}>', 'no-value-here'],
    ['<style>p{color:{{a}} }</style>', 'no-value-here'],
    ['<style>{{#if a}}p{}{{/if}}</style>', 'no-value-here'],
    ['<p style="color:{{a}}">x</p>', 'no-value-here'],
    ['<p style="{{#if a}}color:red{{/if}}">x</p>', 'no-value-here'],
    ['<p onclick="{{a}}">x</p>', 'element-refused'],
    ['<p o{{! }}nclick="x">x</p>', 'element-refused'],
    ['<script>x</script>', 'element-refused'],
    ['<SCR{{! }}IPT>x</SCRIPT>', 'element-refused'],
    ['<iframe src="https://a.b"></iframe>', 'element-refused'],
    ['<base href="https://a.b">', 'element-refused'],
    ['<meta http-equiv="refresh" content="0;url=https://x.example">', 'element-refused'],
    ['<META content="0" HTTP-EQUIV=" ReFresh ">', 'element-refused'],
    ['<meta http-equiv="re&#102;resh">', 'element-refused'],
    ['<meta http-equiv="{{a}}">', 'no-value-here'],
    ['<meta http-equiv="re{{#if a}}{{/if}}fresh">', 'no-value-here'],
    ['<meta http-equiv="re{{! }}fresh">', 'element-refused'],
    ['<link rel="preload" href="https://a.b/x">', 'element-refused'],
    ['<link rel="{{a}}" href="https://a.b/x">', 'no-value-here'],
    ['<svg><animate attributeName="href" to="x"/></svg>', 'element-refused'],
    ['<a href="java&#115;cript:alert(1)">x</a>', 'address-unsafe'],
    ['<a href="javascript&colon;alert(1)">x</a>', 'address-unsafe'],
    ['<a href="{{a}}">x</a>', 'address-unsafe'],
    ['<a href=" {{a}}">x</a>', 'address-unsafe'],
    ['<a href="java{{a}}">x</a>', 'address-unsafe'],
    ['<a href="javascript:alert(1)">x</a>', 'address-unsafe'],
    ['<a href=" java\tscript:alert(1)">x</a>', 'address-unsafe'],
    ['<a href="{{#if a}}java{{/if}}script:x">x</a>', 'address-unsafe'],
    ['<a href="{{#if a}}java{{else}}https{{/if}}{{a}}">x</a>', 'address-unsafe'],
    ['<img src="data:text/html,{{a}}">', 'address-unsafe'],
    ['{{#if a}}<p class="{{/if}}x">', 'branches-differ'],
    ['<p class="{{#if a}}x">{{else}}y{{/if}}', 'branches-differ'],
    ['{{#each a}}<p title="{{/each}}', 'branches-differ'],
    ['<p class="x', 'html-open'],
    ['<p', 'html-open'],
    ['<style>p{}', 'html-open'],
    ['<!-- x', 'html-open'],
  ]
  for (const [html, rule] of rejected) t.match(await problemOf({ html }), { rule, field: 'html' }, html)
  t.match(
    await problemOf({ html: '<p>\n  <a href="{{u}}">x</a>' }),
    { line: 2, column: 12, near: '{{u}}' },
    'the place is that of the placeholder',
  )
  t.equal(await problemOf({ content: '<a href={{a}}>' }), undefined, 'plain text is no HTML')
})

const mjml = (body: string, head = '') =>
  `<mjml>\n<mj-head>${head}</mj-head>\n<mj-body><mj-section><mj-column>\n${body}\n</mj-column></mj-section></mj-body></mjml>`

t.test('MJML is compiled in strict mode, its placeholders are kept, and the HTML obeys the same rules', async (t) => {
  const { html, variables } = await programOf({
    html: mjml(
      '<mj-text>Hello {{name}}</mj-text><mj-button href="{{safeUrl link}}">{{#if deal}}{{deal}}{{else}}Go{{/if}}</mj-button>' +
        '<mj-table>{{#each rows}}<tr><td>{{this.name}}</td></tr>{{/each}}</mj-table>' +
        '<mj-image src="https://cdn.example.com/{{image}}" alt="{{name}}" />',
      '<mj-title>{{name}}</mj-title><mj-preview>{{name}}</mj-preview><mj-style>.a { color: red }</mj-style>',
    ),
    htmlFormat: 'mjml',
  })
  const texts = html?.filter((step) => typeof step === 'string').join('') ?? ''
  t.match(texts, /^\s*<!doctype html>/i)
  t.notMatch(texts, /<mj-|\{\{/)
  t.same(variables.toSorted(), ['image', 'link', 'name', 'rows'])

  const rejected: readonly (readonly [string, SourceRule, object?])[] = [
    [mjml('<mj-foo>x</mj-foo>'), 'mjml-refused', { line: 4, near: /mj-foo/ }],
    [mjml('<mj-text color="red" colour="x">x</mj-text>'), 'mjml-refused', { line: 4, near: /colour/ }],
    ['<p>x</p>', 'mjml-refused'],
    ['', 'mjml-refused'],
    [mjml('<mj-include path="/etc/hostname" />'), 'mjml-include', { line: 4 }],
    [mjml('<mj-text>x</mj-text>', '<MJ-Include type="css" path="x.css" />'), 'mjml-include', { line: 2 }],
    [mjml('{{#each rows}}<mj-text>{{name}}</mj-text>{{/each}}'), 'mjml-lost', { line: 4, near: '{{#each rows}}' }],
    [mjml('<mj-text>x</mj-text>', '<mj-style>.a { color: {{colour}} }</mj-style>'), 'no-value-here'],
    [mjml('<mj-text color="{{colour}}">x</mj-text>'), 'mjml-refused', { near: /colour/ }],
    [mjml('<mj-text font-family="{{font}}">x</mj-text>'), 'no-value-here', { near: /font/ }],
    [mjml('<mj-button href="{{link}}">x</mj-button>'), 'address-unsafe'],
    [mjml('<mj-raw><script>x</script></mj-raw>'), 'element-refused'],
    [mjml('<mj-raw><meta http-equiv="refresh" content="0"></mj-raw>'), 'element-refused'],
    ['<mjml><mj-body>', 'mjml-open', { line: 1, near: '<mj-body>' }],
    ['<mjml>\n<mj-body><mj-section></mj-body></mjml>', 'mjml-open', { line: 2, near: '<mj-section>' }],
    [mjml('<mj-image src="https://a.b/c.png">'), 'mjml-open', { line: 4, near: '<mj-image>' }],
    [mjml('</mj-text>'), 'mjml-open', { line: 4, near: '</mj-text>' }],
    [mjml('<mj-text>x'), 'mjml-open', { line: 4, near: '<mj-text>' }],
    [mjml('<mj-text>x</mj-text>'.repeat(2500)), 'mjml-too-large'],
  ]
  for (const [html, rule, more] of rejected) {
    t.match(await problemOf({ html, htmlFormat: 'mjml' }), { rule, ...more }, html.slice(0, 120))
  }
})

t.test(
  'the variables of a template are the values that it needs, without helpers, loop items, names or conditions',
  async (t) => {
    const variablesOf = async (content: string, html?: string) =>
      (await programOf(omitUndefined({ content, html }))).variables
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ['{{b}} {{a}} {{b}} {{a.c}} {{this.d}} {{./e}} {{[odd name]}}', ['b', 'a', 'a.c', 'd', 'e', 'odd name']],
      [
        '{{#each items}}{{name}} {{this}} {{@index}} {{@key}} {{../outer}} {{@root.top}}{{/each}}',
        ['items', 'outer', 'top'],
      ],
      ['{{#each items as |item at|}}{{item.name}} {{at}} {{this.item}} {{other}}{{/each}}', ['items']],
      ['{{#with user as |one|}}{{name}} {{one.name}}{{../city}}{{/with}}', ['user', 'city']],
      ['{{#if deal}}{{deal}} {{deal.end}} {{shop}}{{else}}{{deal}}{{price}}{{/if}}', ['shop', 'deal', 'price']],
      ['{{#unless deal}}{{price}}{{else}}{{deal}}{{/unless}}', ['price']],
      ['{{#if a}}x{{else if b}}{{b}}{{c}}{{/if}}{{b}}', ['c', 'b']],
      ['{{lookup map key}} {{safeUrl (lookup urls "home")}}', ['map', 'key', 'urls']],
      ['{{this}} {{.}} plain', []],
    ]
    for (const [text, variables] of cases) t.same(await variablesOf(text), variables, text)
    t.same(await variablesOf('{{b}}', '<p>{{a}}{{b}}</p>'), ['b', 'a'], 'of all parts')
  },
)

t.test('a mail written in MJML loads only what its author wrote, in the language of the template', async (t) => {
  const textsOf = async (fields: Fields) => {
    const { html } = await programOf({ htmlFormat: 'mjml', ...fields })
    return html?.filter((step) => typeof step === 'string').join('') ?? ''
  }
  const fonts = ['Open Sans', 'Droid Sans', 'Lato', 'Roboto', 'Ubuntu']
  const body = fonts.map((font) => `<mj-text font-family="${font}, Arial">x</mj-text>`).join('')
  const loaded = (html: string) => html.match(/(?:href|src)="[^"]*"|url\([^)]*\)/gi)
  t.equal(loaded(await textsOf({ html: mjml(`<mj-text>x</mj-text>${body}`) })), null)
  const font = 'https://fonts.example.com/own.css'
  const own = mjml('<mj-text font-family="Own">x</mj-text>', `<mj-font name="Own" href="${font}" />`)
  t.same(new Set(loaded(await textsOf({ html: own }))), new Set([`href="${font}"`, `url(${font})`]))

  const languages = async (fields: Fields) => new Set((await textsOf(fields)).match(/lang="[^"]*"/g))
  const html = mjml('<mj-text>x</mj-text>')
  t.same(await languages({ html, locale: 'zh-CN' }), new Set(['lang="zh-CN"']))
  t.same(await languages({ html: html.replace('<mjml>', '<mjml lang="de">'), locale: 'zh-CN' }), new Set(['lang="de"']))
  t.same(await languages({ html }), new Set(['lang="und"']), 'a preview without a language')
})
