/** Tests the maximum text of each service. The text is measured in the sent request, including the signature. */
import t from 'tap'
import { startServices, startWebhooks, through } from './fixtures/services.ts'

const line = '发布 🎉 e\u0301 <b> & *x* "q" \\ end\n'
const subject = '汉🎉'.repeat(250)
const bytes = (text: string) => Buffer.byteLength(text)
const characters = (text: string) => [...text].length

// biome-ignore lint/suspicious/noExplicitAny: bodies of sixteen services
type Body = any
/** The measured size and its maximum. */
type Measured = readonly [size: number, most: number]
type Measure = (body: Body, sent: string) => readonly Measured[]

const whole =
  (most: number): Measure =>
  (_, sent) => [[bytes(sent), most]]

const measures: Readonly<Record<string, Readonly<Record<string, Measure>>>> = {
  dingtalk: { text: whole(20_000), markdown: whole(20_000) },
  wecom: {
    text: ({ text }) => [[bytes(text.content), 2048]],
    markdown: ({ markdown }) => [[bytes(markdown.content), 4096]],
  },
  feishu: { text: whole(20_480), markdown: whole(20_480), post: whole(20_480) },
  slack: {
    text: ({ text }) => [[characters(text), 40_000]],
    markdown: ({ text }) => [[characters(text), 40_000]],
  },
  mattermost: {
    text: ({ text }) => [[characters(text), 16_383]],
    markdown: ({ text }) => [[characters(text), 16_383]],
  },
  discord: {
    text: ({ content }) => [[characters(content), 2000]],
    markdown: ({ embeds: [{ title, description }] }) => [
      [characters(title), 256],
      [characters(description), 4096],
    ],
  },
  bark: { text: whole(4096), markdown: whole(4096) },
  ntfy: {
    text: ({ message, title }) => [
      [bytes(message), 4096],
      [bytes(title), 1000],
    ],
    markdown: ({ message }) => [[bytes(message), 4096]],
  },
  pushplus: {
    text: ({ title, content }) => [
      [characters(title), 100],
      [characters(content), 20_000],
    ],
  },
  serverchan: {
    text: ({ title, desp }) => [
      [characters(title), 32],
      [bytes(desp), 32_768],
    ],
  },
  telegram: {
    text: ({ text }) => [[text.length, 4096]],
    html: ({ text }) => [[text.length, 4096]],
  },
  teams: { text: whole(28_672), markdown: whole(28_672) },
  rocketchat: { text: ({ text }) => [[text.length, 5000]], markdown: ({ text }) => [[text.length, 5000]] },
  'google-chat': { text: ({ text }) => [[characters(text), 4096]] },
}

t.test('a text that is too long is cut to the maximum of the service, in its own unit', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services)
  for (const [code, types] of Object.entries(measures)) {
    for (const [type, measure] of Object.entries(types)) {
      const attributes = through(code, { 'webhook.message-type': type })
      const result = await send(attributes, { subject, content: line.repeat(3000) })
      t.match(result, { success: true, hint: 'messages.webhook.truncated' }, `${code} ${type}: says that it was cut`)
      const sent = services.last(code)?.body ?? ''
      t.ok(sent.isWellFormed() && !/\\ud[89a-f]/i.test(sent), `${code} ${type}: no character is cut in two`)
      for (const [size, most] of measure(JSON.parse(sent), sent)) {
        t.ok(size <= most && size > 0.7 * most, `${code} ${type}: ${size} of ${most}`)
      }
    }
  }
})

t.test('Slack: as many blocks of the maximum size as allowed, cut at lines or between graphemes', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services)
  const family = '👨‍👩‍👧‍👦'
  const sections = async (content: string): Promise<string[]> => {
    const result = await send(through('slack', { 'webhook.message-type': 'markdown' }), { subject, content })
    t.match(result, { success: true })
    const { blocks } = JSON.parse(services.last('slack')?.body ?? '') as Body
    t.ok(blocks.length <= 50, `${blocks.length} blocks`)
    const [header, ...rest] = blocks
    t.equal(header.type, 'header')
    t.ok(characters(header.text.text) <= 150)
    return rest.map(({ text }: Body) => text.text)
  }
  const families = await sections(family.repeat(1000))
  t.equal(families.join(''), family.repeat(1000))
  for (const text of families) {
    t.ok(text.length <= 3000)
    t.equal(text, family.repeat(text.length / family.length), 'whole families')
  }
  const lines = await sections(line.repeat(1000))
  for (const text of lines.slice(0, -1)) t.ok(text.length <= 3000 && text.endsWith('end'), 'whole lines')
})

t.test('a code block that is cut or continues in the next section of Slack keeps its fences', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services)
  const content = `Log:\n\`\`\`\n${'a line of the log\n'.repeat(1000)}\`\`\`\nEnd`
  const members: Readonly<Record<string, (body: Body) => readonly string[]>> = {
    slack: ({ blocks }) => blocks.slice(1).map(({ text }: Body) => text.text),
    discord: ({ embeds: [{ description }] }) => [description],
    rocketchat: ({ text }) => [text],
    'google-chat': ({ text }) => [text],
  }
  for (const [code, textsOf] of Object.entries(members)) {
    await send(through(code, { 'webhook.message-type': 'markdown' }), { subject: 'S', content })
    const texts = textsOf(JSON.parse(services.last(code)?.body ?? ''))
    for (const [index, text] of texts.entries()) {
      t.match(text, /^[^`]*```\n[^`]+\n```[^`]*$/, `${code} ${index}: one whole block`)
      t.ok(code !== 'slack' || text.length <= 3000, `${code} ${index}: ${text.length}`)
    }
    if (code === 'slack') t.equal(texts.join('').match(/a line of the log/g)?.length, 1000, 'no line is lost')
  }
})

t.test('the JSON for ntfy is as short as its server requires, with quotes and a long subject too', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services)
  const sent = async (subject: string, content: string) => {
    await send(through('ntfy'), { subject, content })
    const body = services.last('ntfy')?.body ?? ''
    return { bytes: bytes(body), ...JSON.parse(body) }
  }
  const quotes = await sent('S', '"'.repeat(5000))
  const both = await sent('汉"'.repeat(2000), '"'.repeat(5000))
  const short = await sent('Title', 'x'.repeat(4096))
  t.same(
    [quotes, both, short].map(({ bytes: size, title, message }) => [size <= 8192, bytes(title), message.length > 3000]),
    [
      [true, 1, true],
      [true, 999, true],
      [true, 5, true],
    ],
  )
  t.equal(short.message.length, 4096)
})
