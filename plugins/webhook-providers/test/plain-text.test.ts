/** Tests that text of users never acts as a mention, a link or a format, in the type `text` and in template values. */
import { readFileSync } from 'node:fs'
import { type NotificationMessage, notificationChannel } from '@plinth/kernel'
import { asPlainText, webhookProvider } from '@plinth/notification-channels/webhook'
import t, { type Test } from 'tap'
import { everydayAddresses } from './fixtures/everyday-addresses.ts'
import { type Kind, plainTextPage, plainTextRows, textByKind } from './fixtures/plain-text-rows.ts'
import { linksShownBy } from './fixtures/service-links.ts'
import { startServices, startWebhooks, through } from './fixtures/services.ts'

/** Marks around a sample. They are on separate lines, so that the sample begins and ends a line. */
const [opened, closed] = ['⟦\n', '\n⟧']
const gap = '\u200b'
const kinds = Object.keys(textByKind) as Kind[]

/** Returns the texts of a payload without the names of its tags. */
const texts = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => (name === 'tag' ? [] : texts(member)))
}

async function start(t: Test) {
  const services = await startServices(t)
  const { running } = await startWebhooks(t, services)
  const channel = running.contributions(notificationChannel).get('webhook')
  if (channel === undefined) throw new Error('no channel')
  const providers = [...running.contributions(webhookProvider).values()].map(({ provider }) => provider)
  let count = 0
  const payload = async (code: string, message: Partial<NotificationMessage>): Promise<string> => {
    count += 1
    const whole = { id: `m${count}`, subject: 'Title', content: '', variables: {}, recipients: [], attributes: {} }
    const context = { signal: new AbortController().signal, idempotencyKey: whole.id, attempt: 1 }
    const attributes = through(code, message.attributes)
    const outcome = await channel.send({ ...whole, ...message, attributes }, context)
    t.equal(outcome.outcome, 'accepted', code)
    return services.last(code)?.body ?? ''
  }
  /** Sends a text between the two marks, and returns what the service receives between the marks. */
  const sent = async (name: string, text: string, isValue: boolean): Promise<string> => {
    const [code = '', type = ''] = name.split(' ')
    const content = [[opened.length, opened.length + text.length]] as const
    const body = await payload(code, {
      content: opened + text + closed,
      attributes: { 'webhook.message-type': type },
      ...(isValue ? { valueRanges: { subject: [], content } } : {}),
    })
    const all = texts(JSON.parse(body)).join('\n')
    const between = all.slice(all.lastIndexOf('⟦') + 1, all.lastIndexOf('⟧'))
    // Some services show each line as a separate paragraph, so double line breaks are treated as single ones.
    return between.replaceAll('\n\n', '\n').replace(/^\n|\n$/g, '')
  }
  return { providers, payload, sent }
}

t.test('N-011 each provider and message type sends user text as listed in the table', async (t) => {
  const { providers, sent } = await start(t)
  const all = providers.flatMap(({ code, messageTypes }) => Object.keys(messageTypes).map((type) => `${code} ${type}`))
  t.same(Object.keys(plainTextRows).sort(), all.sort(), 'the table has every provider and every type')
  for (const [name, row] of Object.entries(plainTextRows)) {
    const isText = name.endsWith(' text')
    for (const kind of kinds) {
      const expected = (row[kind] ?? textByKind[kind]).replaceAll('·', gap)
      t.equal(await sent(name, textByKind[kind], !isText), expected, `${name}: ${kind}`)
      if (!isText && row[kind] !== undefined && !name.startsWith('feishu post')) {
        t.equal(
          await sent(name, textByKind[kind], false),
          textByKind[kind],
          `${name}: ${kind} by the author of a template`,
        )
      }
    }
    const control = await sent(name, `a\u0007b\u009b1mc\u0000`, !isText)
    t.match(control, /^ab1mc$/, `${name}: no control characters`)
  }
})

/**
 * Returns an address in the form in which two equal addresses are the same text (RFC 3986, 6.2.2.2). `@` in a path and
 * brackets, which libraries encode, mean the same too.
 */
const normalAddress = (address: string) =>
  (URL.canParse(address) ? new URL(address).href : address).replace(/%(?:2D|2E|5F|7E|40|5B|5D)/gi, decodeURIComponent)

t.test('200 everyday addresses stay one link to the same address in each provider and message type', async (t) => {
  const { providers } = await start(t)
  t.equal(new Set(everydayAddresses).size, 200)
  const damaged = providers.flatMap(({ code, messageTypes }) =>
    Object.entries(messageTypes).flatMap(([type, { plain }]) =>
      everydayAddresses.flatMap((address) => {
        const text = `See ${address} now`
        const shown = plain === undefined ? text : asPlainText(text, plain)
        const targets = linksShownBy(`${code} ${type}`, shown).map(({ target }) => normalAddress(target))
        const [target = 'none', ...others] = targets
        const [isSame, rest] = [normalAddress(address).startsWith(target), normalAddress(address).slice(target.length)]
        // Some services leave brackets and stars at the end out of a link, also without escapes.
        return isSame && /^[)*]*$/.test(rest) && others.length === 0 ? [] : [`${code} ${type}: ${shown} -> ${targets}`]
      }),
    ),
  )
  t.same(damaged, [])
})

const evil = 'https://evil.example/login'
/** Texts in which a service could show a link whose text is not its target. */
const hiddenLinks = [
  `[your bank](${evil})`,
  `[your bank](<${evil}>)`,
  `[your bank](${evil} "t")`,
  `![your bank](${evil})`,
  `[https://bank.example](${evil})`,
  `[your [big] bank](${evil})`,
  `[your bank][1]\n\n[1]: ${evil}`,
  `[1][]\n\n[1]: ${evil}`,
  `[1]\n\n[1]: ${evil}`,
  `https://bank.example/[your bank](${evil})`,
  `https://bank.example/[1](${evil})`,
  `[a https://bank.example/\\](${evil})`,
  `[a https://bank.example/(b](${evil})`,
  `<${evil}|your bank>`,
  `<a href="${evil}">your bank</a>`,
]

t.test('no text of a user becomes a link that hides its target', async (t) => {
  const { providers } = await start(t)
  const origin = (address: string) => (URL.canParse(address) ? new URL(address).origin : address)
  const hidden = (name: string, text: string) =>
    linksShownBy(name, text).filter(({ target, label }) => origin(target) !== origin(label))
  const found = providers.flatMap(({ code, messageTypes }) =>
    Object.entries(messageTypes).flatMap(([type, { plain }]) =>
      hiddenLinks.flatMap((text) => {
        const name = `${code} ${type}`
        return plain === undefined ? [] : hidden(name, asPlainText(text, plain)).map(() => `${name}: ${text}`)
      }),
    ),
  )
  t.same(found, [])
  const [masked = ''] = hiddenLinks
  t.ok(hidden('discord text', masked).length === 1 && hidden('teams text', masked).length === 1, 'without escapes')
})

t.test('Rocket.Chat shows no formula in the text of a user, and a single dollar sign stays', async (t) => {
  const { sent } = await start(t)
  const texts = ['costs $5 and $6', '$$x$$', '\\[x\\]', 'a \\(x\\)', 'costs $5', 'https://x.example/$batch?$filter=_a']
  t.same(await Promise.all(texts.map((text) => sent('rocketchat text', text, false))), [
    'costs ＄5 and ＄6',
    '＄＄x＄＄',
    `\\${gap}[x\\]`,
    `a \\${gap}(x\\)`,
    'costs $5',
    'https://x.example/$batch?$filter=%5Fa',
  ])
})

t.test('an address ends where the text around it goes on', async (t) => {
  const { sent } = await start(t)
  const texts: Readonly<Record<string, string>> = {
    'See https://x.example/_a, *b*': 'See https://x.example/%5Fa, \\*b\\*',
    '(https://x.example/_a) _b_': '(https://x.example/%5Fa) \\_b\\_',
    '"https://x.example/_a" *b*': '"https://x.example/%5Fa" \\*b\\*',
    'https://x.example/_a。*b*': 'https://x.example/%5Fa。\\*b\\*',
    '见https://x.example/_a': '见https://x.example/%5Fa',
    'http: //_a_': 'http: //\\_a\\_',
    'xhttps://x.example/_a': 'xhttps://x.example/\\_a',
    'https://x.example/?p=C:\\_temp\\_x': 'https://x.example/?p=C:\\%5Ftemp\\%5Fx',
  }
  const shown = Object.keys(texts).map(async (text) => [text, await sent('discord text', text, false)] as const)
  t.same(Object.fromEntries(await Promise.all(shown)), texts)
})

t.test('no limit cuts an escaped token', async (t) => {
  const { providers, payload } = await start(t)
  for (const { code, messageTypes } of providers) {
    for (const [type, { limit }] of Object.entries(messageTypes)) {
      const shown = limit === undefined ? '' : `${limit.max} ${limit.unit}${limit.member ? '' : ' of the payload'}`
      t.equal(plainTextRows[`${code} ${type}`]?.longest, shown, `${code} ${type}: ${shown}`)
      if (limit === undefined) continue
      for (const [token, whole, last] of [
        ['*', /\\?\*|＊|&#42;/g, /^…?$/],
        ['<b', /(?:\\?<\u200b?|&lt;|&#60;)b/g, /^(?:\\?<\u200b?|&lt;|&#60;)?…?$/],
      ] as const) {
        const content = token.repeat(50_000)
        const body = await payload(code, {
          subject: '',
          content,
          attributes: { 'webhook.message-type': type },
          valueRanges: { subject: [], content: [[0, content.length]] },
        })
        const lengths = texts(JSON.parse(body)).map((text) => [text.length, text] as const)
        const [, longest = ''] = lengths.sort(([one], [other]) => other - one)[0] ?? []
        t.ok(longest.length > 900, `${code} ${type}: as much as it may`)
        t.match(longest.replace(whole, ''), last, `${code} ${type}: whole tokens`)
      }
    }
  }
})

t.test('no section of Slack begins or ends within an entity', async (t) => {
  const { payload } = await start(t)
  const content = `a${'&'.repeat(4000)}`
  const valueRanges = { subject: [], content: [[0, content.length]] as const }
  const body = await payload('slack', { content, valueRanges, attributes: { 'webhook.message-type': 'markdown' } })
  const sections = JSON.parse(body)
    .blocks.slice(1)
    .map(({ text }: { text: { text: string } }) => text.text)
  t.equal(sections.join(''), `a${'&amp;'.repeat(4000)}`)
  for (const text of sections) t.match(text, /^a?(?:&amp;)+$/)
})

t.test('attributes that select a markup decide what is plain text', async (t) => {
  const { payload } = await start(t)
  const content = '*a* <b>'
  const text = async (code: string, attributes: object, member: string) =>
    JSON.parse(await payload(code, { subject: '*S*', content, attributes: { ...attributes } }))[member]
  const mode = (value: string) => ({ 'webhook.telegram.parse-mode': value })
  t.equal(await text('telegram', mode('HTML'), 'text'), '<b>*S*</b>\n*a* <b>')
  t.equal(await text('telegram', mode('MarkdownV2'), 'text'), '*\\*S\\**\n*a* <b>')
  t.equal(await text('ntfy', { 'webhook.ntfy.markdown': true }, 'message'), content)
  t.equal(await text('pushplus', { 'webhook.pushplus.template': 'html' }, 'content'), content)
  t.equal(await text('pushplus', { 'webhook.pushplus.template': 'json' }, 'content'), content)
  const extras = { 'client::display': { contentType: 'text/markdown' } }
  t.equal(await text('gotify', { 'webhook.gotify.extras': extras }, 'message'), content)
  const value = { valueRanges: { subject: [], content: [[0, content.length]] as const } }
  const filled = async (code: string, attributes: object, member: string) =>
    JSON.parse(await payload(code, { subject: 'S', content, ...value, attributes: { ...attributes } }))[member]
  t.equal(await filled('telegram', mode('HTML'), 'text'), '<b>S</b>\n*a* &lt;b&gt;')
  t.equal(await filled('ntfy', { 'webhook.ntfy.markdown': 'true' }, 'message'), '\\*a\\* \\<b>')
  t.equal(await filled('pushplus', { 'webhook.pushplus.template': 'html' }, 'content'), '*a* &lt;b&gt;')
  t.equal(await filled('gotify', { 'webhook.gotify.extras': extras }, 'message'), '\\*a\\* \\<b>')
})

t.test('a value stays plain text, also as a part of a token', async (t) => {
  const { payload } = await start(t)
  const at = async (code: string, content: string, ranges: readonly (readonly [number, number])[]) => {
    const attributes = { 'webhook.message-type': 'markdown' }
    const valueRanges = { subject: [], content: ranges }
    return texts(JSON.parse(await payload(code, { subject: '', content, attributes, valueRanges }))).join('|')
  }
  t.match(await at('rocketchat', 'by @all', [[4, 7]]), 'by @all', 'the author of a template may mention')
  t.match(await at('rocketchat', '*by* @all', [[5, 9]]), `*by* @${gap}all`)
  t.match(
    await at('google-chat', '<users/all>', [
      [0, 1],
      [1, 11],
    ]),
    `<${gap}users/all>`,
  )
  t.match(
    await at('mattermost', '[open](https://e.example/x)', [[7, 26]]),
    '[open](https://e.example/x)',
    'a link of the author',
  )
  t.match(await at('mattermost', '# a\n# b', [[4, 7]]), '# a\n\\# b')
  t.equal(
    await at('discord', '_https://e.example/_a_', [[19, 21]]),
    '_https://e.example/%5Fa_',
    'italics of the author',
  )
  t.match(await at('gotify', '[x](https://e.example/_a_)', [[22, 25]]), '[x](https://e.example/%5Fa%5F)')
  t.match(await at('slack', '<https://e.example/?q=_a_&r=|x>', [[22, 25]]), '<https://e.example/?q=%5Fa%5F&r=|x>')
})

t.test('the README contains the table', async (t) => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  t.ok(readme.includes(`\`\`\`text\n${plainTextPage()}\n\`\`\``), `the README contains:\n${plainTextPage()}`)
})
