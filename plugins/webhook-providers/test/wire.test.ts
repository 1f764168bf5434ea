import { manualClock } from '@plinth/dev/testing'
import t from 'tap'
import { dingtalkSignature } from '../src/dingtalk.ts'
import { feishuSignature } from '../src/feishu.ts'
import { samples } from './fixtures/samples.ts'
import { startServices, startWebhooks, through } from './fixtures/services.ts'

const now = 1_700_000_000_000

interface Wire {
  /** Path and query below the address of the service. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
  /** Request body of the message type markdown, if it differs. */
  readonly markdown: unknown
}

const slackText = 'Release &lt;42&gt;\nIt is *out*'
const card = (blocks: object[]) => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      contentUrl: null,
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: blocks,
      },
    },
  ],
})
const teamsBlocks = (content: string) => [
  { type: 'TextBlock', text: 'Release <42>', wrap: true, weight: 'Bolder', size: 'Medium' },
  { type: 'TextBlock', text: content, wrap: true },
]

/** Requests that each service expects for the message "Release <42>", "It is *out*". */
const wires: Readonly<Record<string, Wire>> = {
  generic: {
    url: '/in/gen-Endp0int-7781',
    headers: { 'webhook-timestamp': '1700000000' },
    body: { type: 'notification.message', timestamp: '2023-11-14T22:13:20.000Z', data: { messageType: 'text' } },
    markdown: { data: { subject: 'Release <42>', content: 'It is *out*', messageType: 'markdown' } },
  },
  dingtalk: {
    url: `/robot/send?access_token=ding-T0ken-5591ab&timestamp=${now}&sign=${encodeURIComponent(dingtalkSignature('SECding77aa88bb99cc00', now))}`,
    body: { msgtype: 'text', text: { content: 'Release <42>\nIt is *out*' } },
    markdown: { msgtype: 'markdown', markdown: { title: 'Release <42>', text: '### Release <42>\nIt is *out*' } },
  },
  wecom: {
    url: '/cgi-bin/webhook/send?key=693a91f6-7xxx-4bc4-97a0-wecomkey',
    body: { msgtype: 'text', text: { content: 'Release <42>\nIt is *out*' } },
    markdown: { msgtype: 'markdown', markdown: { content: '## Release <42>\nIt is *out*' } },
  },
  feishu: {
    url: '/open-apis/bot/v2/hook/feishu-t0ken-1234-abcd',
    body: { msg_type: 'text', content: { text: 'Release <42>\nIt is *out*' }, timestamp: '1700000000' },
    markdown: {
      msg_type: 'interactive',
      card: {
        header: { title: { tag: 'plain_text', content: 'Release <42>' } },
        elements: [{ tag: 'markdown', content: 'It is *out*' }],
      },
    },
  },
  slack: {
    url: '/services/T0SLACK11/B0SLACK22/slackPathT0ken',
    body: { text: slackText, mrkdwn: false, unfurl_links: false, unfurl_media: false },
    markdown: {
      text: slackText,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'Release <42>' } },
        { type: 'section', text: { type: 'mrkdwn', text: 'It is *out*', verbatim: true } },
      ],
    },
  },
  mattermost: {
    url: '/hooks/mattermostkey26charsabcdef',
    body: { text: '#### Release <42>\nIt is \\*out\\*' },
    markdown: { text: '#### Release <42>\nIt is *out*' },
  },
  discord: {
    url: '/api/webhooks/112233445566/discordT0ken-abc',
    body: { content: '**Release <42>**\nIt is \\*out\\*', allowed_mentions: { parse: [] }, flags: 4 },
    markdown: { embeds: [{ title: 'Release <42>', description: 'It is *out*' }], allowed_mentions: { parse: [] } },
  },
  bark: {
    url: '/push',
    body: { device_key: 'barkDeviceKey1234567890', title: 'Release <42>', body: 'It is *out*' },
    markdown: { device_key: 'barkDeviceKey1234567890', title: 'Release <42>', markdown: 'It is *out*' },
  },
  gotify: {
    url: '/sub/message',
    headers: { 'x-gotify-key': 'AgotifyAppT0ken' },
    body: { title: 'Release <42>', message: 'It is *out*' },
    markdown: { message: 'It is *out*', extras: { 'client::display': { contentType: 'text/markdown' } } },
  },
  ntfy: {
    url: '/',
    headers: { authorization: 'Bearer tk_ntfyAccessT0ken123' },
    body: { topic: 'alerts', title: 'Release <42>', message: 'It is *out*' },
    markdown: { topic: 'alerts', message: 'It is *out*', markdown: true },
  },
  pushplus: {
    url: '/send',
    body: { token: 'pushplusT0ken0123456789', title: 'Release <42>', content: 'It is *out*', template: 'txt' },
    markdown: { content: 'It is *out*', template: 'markdown' },
  },
  serverchan: {
    url: '/SCT123456serverchanKey.send',
    body: { title: 'Release <42>', desp: 'It is \\*out\\*' },
    markdown: { title: 'Release <42>', desp: 'It is *out*' },
  },
  telegram: {
    url: '/bot998877:AAtelegramBotT0ken_x-y/sendMessage',
    body: { chat_id: '-100123', text: 'Release <42>\nIt is *out*', link_preview_options: { is_disabled: true } },
    markdown: { chat_id: '-100123', text: '*Release <42>*\nIt is *out*', parse_mode: 'Markdown' },
  },
  teams: {
    url: '/workflows/wf1/triggers/manual/paths/invoke?api-version=2016-06-01&sig=teamsSigValue%2Babc123',
    body: card(teamsBlocks('It is \\*out\\*')),
    markdown: card(teamsBlocks('It is *out*')),
  },
  'google-chat': {
    url: '/v1/spaces/AAA/messages?key=googleK3y-112233&token=googleT0ken-445566',
    body: { text: '*Release <42>*\nIt is ＊out＊' },
    markdown: { text: '*Release <42>*\nIt is *out*' },
  },
  rocketchat: {
    url: '/hooks/rocketId123/rocketT0ken456',
    body: { text: '*Release <42>*\nIt is \\*out\\*' },
    markdown: { text: '*Release <42>*\nIt is *out*' },
  },
}

t.test('N-011 N-047 N-058 N-060 each provider on the wire, as text and as markdown', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services, { clock: manualClock(now) })
  t.same(Object.keys(wires).sort(), Object.keys(samples).sort(), 'no provider is left out')
  for (const [code, { url, headers = {}, body, markdown }] of Object.entries(wires)) {
    t.match(await send(through(code)), { success: true, channel: 'webhook', provider: code }, code)
    const text = services.last(code)
    const prefix = ['ntfy', 'serverchan'].includes(code) ? '' : `/${code}`
    t.match(text, { method: 'POST', url: prefix + url }, `${code}: where it goes`)
    t.match(text?.headers, {
      'content-type': 'application/json; charset=utf-8',
      'accept-encoding': 'identity',
      ...headers,
    })
    t.match(JSON.parse(text?.body ?? ''), body, `${code}: text`)
    t.match(await send(through(code, { 'webhook.message-type': 'markdown' })), { success: true }, code)
    t.match(JSON.parse(services.last(code)?.body ?? ''), markdown, `${code}: markdown`)
  }
})

t.test('N-048 N-049 attributes of a provider reach the service with its names and types', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services, { clock: manualClock(now) })
  const cases: Readonly<Record<string, readonly [attributes: Record<string, unknown>, members: object][]>> = {
    bark: [
      [
        { 'device-key': 'one', group: 'g', level: 'critical', sound: 's', url: 'https://u', icon: 'https://i' },
        { device_key: 'one', group: 'g', level: 'critical', sound: 's', url: 'https://u', icon: 'https://i' },
      ],
      [{ 'device-key': 'one, two' }, { device_keys: ['one', 'two'] }],
    ],
    gotify: [
      [
        { priority: '7', extras: '{"client::notification":{"click":{"url":"https://x"}}}' },
        { priority: 7, extras: {} },
      ],
      [
        { extras: { a: 1 }, priority: 0 },
        { priority: 0, extras: { a: 1 } },
      ],
    ],
    ntfy: [
      [
        {
          topic: 'other',
          priority: '5',
          tags: 'a, b',
          click: 'https://c',
          attach: 'https://a',
          filename: 'f.txt',
          actions: '[{"action":"view","label":"Open","url":"https://o"}]',
          markdown: 'true',
        },
        {
          topic: 'other',
          priority: 5,
          tags: ['a', 'b'],
          click: 'https://c',
          attach: 'https://a',
          filename: 'f.txt',
          actions: [{ action: 'view', label: 'Open', url: 'https://o' }],
          markdown: true,
        },
      ],
    ],
    pushplus: [
      [
        {
          token: 'own-token',
          topic: 'group',
          template: 'html',
          channel: 'wechat',
          option: 'opt',
          to: 'friend',
          'callback-url': 'https://cb',
        },
        {
          token: 'own-token',
          topic: 'group',
          template: 'html',
          channel: 'wechat',
          option: 'opt',
          webhook: 'opt',
          to: 'friend',
          callbackUrl: 'https://cb',
        },
      ],
    ],
    serverchan: [
      [
        { channel: '9|66', 'open-id': 'a,b' },
        { channel: '9|66', openid: 'a,b' },
      ],
    ],
    telegram: [
      [
        { 'chat-id': '@news', 'parse-mode': 'HTML' },
        { chat_id: '@news', parse_mode: 'HTML', text: '<b>Release &lt;42&gt;</b>\nIt is *out*' },
      ],
      [{ 'parse-mode': 'MarkdownV2' }, { parse_mode: 'MarkdownV2', text: '*Release <42\\>*\nIt is *out*' }],
      [{ 'parse-mode': 'Markdown' }, { parse_mode: 'Markdown', text: '*Release <42>*\nIt is *out*' }],
    ],
    dingtalk: [
      [
        { 'at-mobiles': '13800138000', 'at-all': 'true' },
        { at: { atMobiles: ['13800138000'], atUserIds: [], isAtAll: true } },
      ],
    ],
    wecom: [[{ 'mentioned-list': ['u1', '@all'] }, { text: { mentioned_list: ['u1', '@all'] } }]],
  }
  for (const [code, each] of Object.entries(cases)) {
    for (const [attributes, members] of each) {
      const named = Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [`webhook.${code}.${name}`, value]),
      )
      t.match(await send(through(code, named)), { success: true }, `${code}: ${Object.keys(attributes)}`)
      t.match(JSON.parse(services.last(code)?.body ?? ''), members, code)
    }
  }
  services.received.length = 0
  const rejections: [string, Record<string, unknown>, RegExp][] = [
    ['bark', { level: 'loud' }, /^webhook\.bark\.level must be one of active, timeSensitive/],
    ['bark', { levle: 'active' }, /^webhook\.bark\.levle must be one of .*Did you mean "level"\?$/],
    ['gotify', { priority: '11' }, /^webhook\.gotify\.priority must be from 0 to 10$/],
    ['gotify', { priority: 'high' }, /^webhook\.gotify\.priority must be a whole number$/],
    ['gotify', { extras: '[1]' }, /^webhook\.gotify\.extras must be a JSON object$/],
    ['ntfy', { topic: '' }, /^webhook\.ntfy\.topic must be there/],
    ['ntfy', { priority: 0 }, /from 1 to 5$/],
    ['ntfy', { markdown: 'maybe' }, /must be true or false$/],
    ['ntfy', { actions: [{}, {}, {}, {}] }, /must have at most 3 items$/],
    ['telegram', { 'parse-mode': 'Html' }, /^webhook\.telegram\.parse-mode must be one of Markdown, MarkdownV2, HTML$/],
    ['telegram', { 'chat-id': '' }, /^webhook\.telegram\.chat-id must be there$/],
    ['slack', { channel: 'general' }, /^webhook\.slack\.channel must be absent/],
  ]
  for (const [code, attributes, message] of rejections) {
    const named = Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [`webhook.${code}.${name}`, value]),
    )
    const result = await send(through(code, named))
    t.hasStrict(
      result,
      { success: false, outcome: 'rejected', errorCode: 'webhook.attribute-invalid' },
      `${code} ${JSON.stringify(attributes)}`,
    )
    t.match(result.errorMessage, message)
  }
  t.equal(services.received.length, 0, 'nothing is sent')
})

t.test('the special cases of single services', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services, { clock: manualClock(now) })
  const at = (code: string, path: string, more: Record<string, unknown> = {}) =>
    send(through(code, { 'webhook.endpoint': services.url + path, ...more }))

  t.match(await at('discord', '/discord/api/webhooks/1/t0ken?wait=true&thread_id=7'), { success: true })
  t.equal(services.last('discord')?.url, '/discord/api/webhooks/1/t0ken?thread_id=7', 'Discord: wait is taken out')

  t.match(await at('ntfy', '/alarms', { 'webhook.ntfy.topic': '' }), { success: true })
  t.match(
    JSON.parse(services.last('ntfy')?.body ?? ''),
    { topic: 'alarms' },
    'ntfy: the topic of the address, posted to the root',
  )
  const auth = Buffer.from('Basic abcdef').toString('base64url')
  t.match(await at('ntfy', `/alarms?auth=${auth}`, { 'webhook.secret': '' }), { success: true })
  t.notMatch(services.last('ntfy')?.url, 'auth', 'ntfy: no login in the address')

  t.match(await at('gotify', '/gotify/message?token=urlT0ken99', { 'webhook.secret': '' }), { success: true })
  t.match(services.last('gotify'), { url: '/gotify/message' }, 'Gotify: the token leaves the address')
  t.match(await at('serverchan', '/', { 'webhook.secret': 'sctp123tABC' }), { success: true })
  t.equal(services.last('serverchan')?.url, '/send/sctp123tABC.send', 'ServerChan: version 3')
  t.match(await send(through('serverchan'), { subject: 'x'.repeat(40), content: 'one\ntwo' }), { success: true })
  const { title, desp } = JSON.parse(services.last('serverchan')?.body ?? '')
  t.same([[...title].length <= 32, desp], [true, 'one\n\ntwo'], 'ServerChan: 32 characters of title, lines stay lines')

  const secret = (value: string) => at('bark', '/bark/push', { 'webhook.secret': value })
  t.match(await secret('me:p@ss:word@ownDeviceKey99'), { success: true })
  const login = `Basic ${Buffer.from('me:p@ss:word').toString('base64')}`
  t.match(services.last('bark'), { url: '/bark/push', headers: { authorization: login } }, 'Bark: behind a login')
  t.equal(JSON.parse(services.last('bark')?.body ?? '').device_key, 'ownDeviceKey99')
  t.match(await secret('me:p@ss:word@'), {
    success: false,
    errorMessage: /^webhook\.bark\.device-key must be there/,
  })
  t.match(await secret('plainDeviceKey1'), { success: true })
  t.notOk(services.last('bark')?.headers['authorization'])
  services.answer('bark', { status: 401, body: 'p@ss:word is wrong for somebody1' })
  const rejected = JSON.stringify(await secret('somebody1:longword77@ownDeviceKey99'))
  t.notMatch(rejected, /somebody1|longword77|ownDeviceKey99/, 'no part of a login is repeated')

  services.answer('telegram', ({ body }) => {
    const isOld = JSON.parse(body).chat_id === '-100123'
    const error = {
      ok: false,
      error_code: 400,
      description: 'Bad Request: group chat was upgraded to a supergroup chat',
    }
    return isOld
      ? { status: 400, body: { ...error, parameters: { migrate_to_chat_id: -100777 } } }
      : { body: { ok: true, result: { message_id: 9 } } }
  })
  t.match(
    await send(through('telegram')),
    { success: true, messageId: '9', hint: 'messages.webhook.hint.recipient-moved' },
    'Telegram: follows a moved chat once',
  )
  t.equal(JSON.parse(services.last('telegram')?.body ?? '').chat_id, -100777)
  const moved = { ok: false, error_code: 400, description: 'Bad Request: group chat was upgraded to a supergroup chat' }
  services.answer('telegram', { status: 400, body: moved })
  t.hasStrict(
    await send(through('telegram')),
    { success: false, hint: 'messages.webhook.hint.recipient-moved' },
    'Telegram: a moved chat whose new id is unknown',
  )
  services.answer('telegram', ({ body }) =>
    JSON.parse(body).parse_mode === undefined
      ? { body: { ok: true, result: { message_id: 10 } } }
      : { status: 400, body: { ok: false, error_code: 400, description: "Bad Request: can't parse entities: x" } },
  )
  const before = services.received.length
  t.match(await send(through('telegram', { 'webhook.telegram.parse-mode': 'HTML' })), {
    success: true,
    messageId: '10',
  })
  t.equal(services.received.length - before, 2, 'Telegram: once more, as plain text')
  const unread = async (mode: string, subject: string, content: string) => {
    await send(through('telegram', { 'webhook.telegram.parse-mode': mode }), { subject, content })
    return JSON.parse(services.last('telegram')?.body ?? '')
  }
  const reported = { link_preview_options: { is_disabled: true }, chat_id: '-100123' }
  t.same(
    await unread('HTML', 'A < B & "C"', 'one <i>two</i> <a href="https://x/?a=1">three</a> <br> 1 < 2 &amp;&lt;'),
    { ...reported, text: 'A < B & "C"\none two three (https://x/?a=1) <br> 1 < 2 &<' },
    'without its tags; what is none of Telegram stays',
  )
  t.same(await unread('MarkdownV2', 'v1.2_x!', '*bold* ||hid|| __u__ `a*b` a_b_c [t](https://x) 2 * 3 \\. ~'), {
    ...reported,
    text: 'v1.2_x!\nbold hid u a*b a_b_c t (https://x) 2 * 3 . ~',
  })
  t.same(await unread('Markdown', '[a] *b*', '*bold* _it_ snake_case_name ```js\nx = 1\n``` *open'), {
    ...reported,
    text: '[a] *b*\nbold it snake_case_name x = 1\n *open',
  })
  services.answer('telegram', {
    status: 400,
    body: { ok: false, error_code: 400, description: "can't parse entities" },
  })
  t.match(await send(through('telegram', { 'webhook.telegram.parse-mode': 'HTML' })), {
    success: false,
    providerCode: '400',
  })
  t.equal(services.received.length - before, 10, 'and not for ever')
})

t.test('N-046 N-052 N-058 webhook.payload replaces the payload, but not a signature in it', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services, { clock: manualClock(now) })
  const payload = { msgtype: 'link', link: { title: 'T', messageUrl: 'https://x' } }
  t.match(await send(through('dingtalk', { 'webhook.payload': payload })), { success: true })
  t.same(JSON.parse(services.last('dingtalk')?.body ?? ''), payload)
  t.match(services.last('dingtalk')?.url, /&sign=/)
  const text = '{ "free" : "form" }'
  t.match(await send(through('generic', { 'webhook.payload': text })), { success: true })
  t.equal(services.last('generic')?.body, text, 'a text is sent as it is')
  for (const given of [{ msg_type: 'text', content: { text: 'x' } }, '{"msg_type":"text","content":{"text":"x"}}']) {
    t.match(await send(through('feishu', { 'webhook.payload': given })), { success: true })
    const body = JSON.parse(services.last('feishu')?.body ?? '')
    t.match(body, { msg_type: 'text', content: { text: 'x' }, timestamp: '1700000000', sign: /^[\w+/]{43}=$/ })
  }
  const stale = { msg_type: 'text', content: { text: 'x' }, timestamp: '1', sign: 'of-another-time' }
  t.match(await send(through('feishu', { 'webhook.payload': stale })), { success: true })
  const { timestamp, sign } = JSON.parse(services.last('feishu')?.body ?? '')
  const own = ['1700000000', feishuSignature('feishuSecret0099887766', 1_700_000_000)]
  t.same([timestamp, sign], own, 'a payload does not replace the signature')
  const count = services.received.length
  for (const given of ['no JSON', '[1]', [1]]) {
    const result = await send(through('feishu', { 'webhook.payload': given }))
    t.match(result, { success: false, errorCode: 'webhook.attribute-invalid', errorMessage: /JSON object/ })
  }
  const huge = await send(through('generic', { 'webhook.payload': 'x'.repeat(300_000) }))
  t.match(huge, { success: false, errorCode: 'webhook.attribute-invalid' })
  t.equal(services.received.length, count, 'they fail before anything is sent')
})
