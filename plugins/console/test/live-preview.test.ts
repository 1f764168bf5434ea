/** Tests the preview next to a form, as far as this needs no browser. */
import fc from 'fast-check'
import t from 'tap'
import { LatestRequest } from '../web/admin/pages/forms/latest-ask.ts'
import { sampleOf, samplesOf } from '../web/admin/pages/forms/sample-values.ts'
import { framedHtml } from '../web/admin/pages/framed-html.ts'

/** Timers that the test advances. */
function handTimers() {
  const due = new Map<number, { readonly work: () => void; readonly at: number }>()
  let now = 0
  let last = 0
  return {
    set(work: () => void, ms: number) {
      last += 1
      due.set(last, { work, at: now + ms })
      return last
    },
    clear: (timer: unknown) => void due.delete(timer as number),
    pass(ms: number) {
      now += ms
      for (const [timer, { work, at }] of due) {
        if (at > now) continue
        due.delete(timer)
        work()
      }
    },
  }
}

const turn = () => new Promise(setImmediate)

t.test('only the latest input is sent, after a pause and one request at a time', async (t) => {
  const timers = handTimers()
  const requested: string[] = []
  const responses: (() => void)[] = []
  const ask = new LatestRequest<string>((expected) => {
    requested.push(expected)
    return new Promise((resolve) => responses.push(resolve))
  }, timers)
  ask.want('a', 400)
  timers.pass(399)
  ask.want('ab', 400)
  timers.pass(399)
  t.strictSame(requested, [], 'somebody still types')
  timers.pass(1)
  t.strictSame(requested, ['ab'])
  ask.want('abc', 400)
  timers.pass(400)
  ask.want('abcd', 400)
  timers.pass(400)
  t.strictSame(requested, ['ab'], 'a question is open')
  responses.shift()?.()
  await turn()
  t.strictSame(requested, ['ab', 'abcd'], 'what was wanted between is asked no more')
  ask.want('abcde', 400)
  responses.shift()?.()
  await turn()
  t.strictSame(requested, ['ab', 'abcd'], 'the pause counts after an answer too')
  timers.pass(400)
  t.strictSame(requested, ['ab', 'abcd', 'abcde'])
})

t.test(
  'at most one request is open, whatever is typed and answered, and the last request is about the last text',
  async (t) => {
    const steps = fc.array(
      fc.oneof(
        fc.nat(500).map((ms) => ({ ms })),
        fc.constant('type'),
        fc.constant('answer'),
      ),
      {
        maxLength: 60,
      },
    )
    const holds = fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const timers = handTimers()
        let open: (() => void) | undefined
        let requested = 0
        let typed = 0
        const ask = new LatestRequest<number>((expected) => {
          if (open !== undefined) throw new Error('two questions at once')
          requested = expected
          return new Promise((resolve) => {
            open = resolve
          })
        }, timers)
        const response = async () => {
          open?.()
          open = undefined
          await turn()
        }
        for (const step of all) {
          if (step === 'type') ask.want(++typed, 400)
          else if (step === 'answer') await response()
          else timers.pass((step as { ms: number }).ms)
        }
        timers.pass(400)
        await response()
        return requested === typed
      }),
      { numRuns: 200 },
    )
    await t.resolves(holds)
  },
)

t.test('after a stop nothing is sent, and the open request is cancelled', async (t) => {
  const timers = handTimers()
  const requested: AbortSignal[] = []
  const ask = new LatestRequest<string>(async (_, signal) => void requested.push(signal), timers)
  ask.want('a', 0)
  timers.pass(0)
  ask.want('b', 400)
  ask.stop()
  ask.want('c', 0)
  timers.pass(1_000)
  t.strictSame(
    requested.map(({ aborted }) => aborted),
    [true],
  )
})

t.test('a document keeps its appearance, and neither loads resources nor opens links', async (t) => {
  const shown = (html: string) => framedHtml(html, 'n0nce', 'en')
  const { html, heldBack } = shown(
    `<!doctype html><html><head><meta http-equiv="refresh" content="0;url=/"><link rel="stylesheet" href="//x.example/a.css">
    <style type="text/css">@import url(https://fonts.example/css?a;b); p { color: red; background: url("//x.example/p.png") }</style></head>
    <body style='font-family: "A&amp;B", &quot;C&quot;'><!-- <b>no</b> --><!--[if !mso]><!--><p STYLE="margin:0">1 < 2 & 3</p><!--<![endif]-->
    <a href="https://x.example/?a=1&amp;b=2" target="_blank">go</a><img src="https://x.example/p.png" width="10" alt='A "picture"'>
    <img src="data:image/png;base64,AA=="><td background="//x.example/b.png">x</td></body></html>`,
  )
  t.equal(heldBack, 2)
  t.notMatch(html, /x\.example\/(?:a\.css|p\.png|b\.png)|fonts\.example|<meta|<link|href=|<b>no|\sstyle=/i)
  t.match(html, /<style nonce="n0nce" type="text\/css"> p \{ color: red; background: none \}<\/style>/)
  t.match(html, '[data-style="0"]:not(#s#s#s){font-family: "A&B", "C"\n/**/}')
  t.match(html, '[data-style="1"]:not(#s#s#s){margin:0')
  t.match(html, '<p data-style="1">1 < 2 & 3</p>')
  t.match(html, '<a title="https://x.example/?a=1&amp;b=2" target="_blank">go</a>')
  t.match(html, '<img width="10" alt="A &quot;picture&quot;">')
  t.match(html, '<img src="data:image/png;base64,AA==">')
  for (const broken of ['a{}', '}</style><script>', 'color: rgb(1,2']) {
    const { html } = shown(`<p style="${broken.replaceAll('<', '&lt;')}">x</p>`)
    t.match(html, '<p>x</p>', broken)
  }
  t.match(shown('<p style="color:red;&lt;/style>">x</p>').html, 'color:red;<\\/style>')
})

/** Returns the prepared document without the styles that are added to it. */
const body = (html: string) => framedHtml(html, 'n', 'en').html.split('</style>').slice(2).join('</style>')

t.test('no script of a document runs, and its visible content stays', async (t) => {
  for (const [html, shown] of [
    ['<script>if (a<b) alert("<p>")</script>x', 'x'],
    ['<SCRIPT src=//x.example/a.js></SCRIPT >x', 'x'],
    ['<p onclick="go()" OnLoad=go()>x</p>', '<p>x</p>'],
    [
      '<iframe srcdoc="<img src=//x.example>"></iframe><object data=//x.example/a></object><embed src=//x.example>x',
      'x',
    ],
    ['<svg><use xlink:href="//x.example/a#b"/><path d="M0"/></svg>', '<svg><use/><path d="M0"/></svg>'],
    ['<p title="&quot;&amp;quot;&#x41;&eacute;">x', '<p title="&quot;&amp;quot;Aé">x'],
    ['&copy; &lt;b&gt; &amp;lt; AT&T', '&#169; &#60;b&#62; &#38;lt; AT&T'],
    ['<b><i>x</b>y</i>', '<b><i>x</b>y</i>'],
    ['<!doctype html><?xml version="1"?><!--> <b>x</b> <!-- -->', '<b>x</b>'],
    ['<title>a <b> c</title>', '<title>a <b> c</title>'],
    ['<p title=a>b', '<p title="a">b'],
    ['<p title=1 title=2>', '<p title="1" title="2">'],
  ] as const)
    t.equal(body(html).trim(), shown, html)
  t.match(framedHtml('<p style="font-family:&Auml;&quot;">x', 'n', 'en').html, '{font-family:Ä"\n/**/}')
})

t.test('broken markup ends with the document', async (t) => {
  for (const [broken, shown] of [
    ['a <', 'a <'],
    ['x<p', 'x'],
    ['x<p a="b', 'x'],
    ['<p a=b c>x', '<p a="b" c="">x'],
    ['x<!-- y', 'x'],
    ['<style>p{', '<style nonce="n">p{'],
    ['</p></', '</p></'],
  ] as const)
    t.equal(body(broken), shown, broken)
})

t.test('a typed value is parsed as JSON, or else used as text', async (t) => {
  for (const [typed, value] of [
    ['7', 7],
    ['-1.5', -1.5],
    ['007', '007'],
    ['1.50', '1.50'],
    ['true', true],
    ['null', null],
    ['[1, "a"]', [1, 'a']],
    ['{"a": {}}', { a: {} }],
    ['[not', '[not'],
    ['Ada & co', 'Ada & co'],
    [' ', ' '],
    ['Infinity', 'Infinity'],
  ] as const)
    t.strictSame(sampleOf(typed), value, typed)
  const made = samplesOf({
    'user.name': 'Ada',
    user: '',
    'shop.town': 'Bern',
    shop: '{"title": "Tea"}',
    a: 'x',
    'a.b': 'y',
    c: '',
  })
  t.equal(JSON.stringify(made), '{"a":"x","shop":{"title":"Tea","town":"Bern"},"user":{"name":"Ada"}}')
})

t.test('screen readers get the language of the document, or else that of the page', async (t) => {
  t.match(framedHtml('<p>x', 'n', 'zh-CN').html, /^<!doctype html><html lang="zh-CN">/)
  t.match(framedHtml('<html lang=""><p>x', 'n', 'zh-CN').html, /^<!doctype html><html lang="zh-CN">/)
  const own = framedHtml('<HTML dir="auto" lang="de"><p>x', 'n', 'zh-CN').html
  t.match(own, 'lang="de"')
  t.notMatch(own, 'zh-CN')
})
