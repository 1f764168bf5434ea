import fc from 'fast-check'
import t from 'tap'
import { formatDuration, formats, parseBytes, parseDuration } from '../src/index.ts'

t.test('K-010 durations accept 30s, 5m, 1h and ISO 8601, and nothing that is not exact', async (t) => {
  const accepted = {
    '500ms': 500,
    '30s': 30_000,
    '5m': 300_000,
    '1h': 3_600_000,
    '1d': 86_400_000,
    '2w': 1_209_600_000,
    '1h30m': 5_400_000,
    '1d2h3m4s5ms': 93_784_005,
    '90m': 5_400_000,
    '0s': 0,
    PT5M: 300_000,
    PT0S: 0,
    'PT0.5S': 500,
    'PT1.25S': 1250,
    P1DT2H: 93_600_000,
    P2W: 1_209_600_000,
    PT36H: 129_600_000,
    '9007199254740991ms': Number.MAX_SAFE_INTEGER,
  }
  for (const [text, ms] of Object.entries(accepted)) t.equal(parseDuration(text), ms, text)
  const rejected = [
    '',
    ' ',
    '5',
    '5 m',
    ' 5m',
    '5m ',
    '5m\n',
    '-5m',
    '+5m',
    '1.5h',
    '5M',
    '5min',
    '1m1h',
    '5m5m',
    '1e3s',
    '٥m',
    'm',
    'P',
    'PT',
    'P1Y',
    'P1M',
    'P1DT',
    'PT1',
    'pt5m',
    'PT5M ',
    'P-1D',
    'PT1.S',
    'PT.5S',
    'PT0.0005S',
    'PT1.5M',
    'P1H',
    '9007199254740992ms',
    '999999999999999999999d',
    'Infinity',
    '__proto__',
  ]
  for (const text of rejected) t.equal(parseDuration(text), undefined, JSON.stringify(text))
})

t.test('K-010 formatDuration writes the shortest text that reads back exactly', async (t) => {
  for (const [ms, text] of [
    [0, '0s'],
    [1, '1ms'],
    [90_000, '1m30s'],
    [5_400_000, '1h30m'],
    [604_800_000, '7d'],
  ] as const) {
    t.equal(formatDuration(ms), text)
  }
  for (const wrong of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    t.throws(() => formatDuration(wrong), RangeError, String(wrong))
  }
  fc.assert(fc.property(fc.maxSafeNat(), (ms) => parseDuration(formatDuration(ms)) === ms))
  const amount = fc.nat(1000)
  fc.assert(
    fc.property(fc.tuple(amount, amount, amount, amount), ([d, h, m, s]) => {
      const ms = ((d * 24 + h) * 60 + m) * 60_000 + s * 1000
      return parseDuration(`${d}d${h}h${m}m${s}s`) === ms && parseDuration(`P${d}DT${h}H${m}M${s}S`) === ms
    }),
  )
})

t.test('decimal and binary units of bytes are exact and differ', async (t) => {
  const accepted = { 0: 0, 1024: 1024, '1B': 1, '64kB': 64_000, '10MiB': 10_485_760, '2GB': 2e9, '1TiB': 2 ** 40 }
  for (const [text, bytes] of Object.entries(accepted)) t.equal(parseBytes(text), bytes, text)
  for (const text of [
    '',
    'kB',
    '1.5MB',
    '10 MiB',
    '1k',
    '1Kb',
    '10mib',
    '-1',
    '1e3',
    '9007199254740992',
    '8192TiB',
    '1constructor',
  ]) {
    t.equal(parseBytes(text), undefined, JSON.stringify(text))
  }
  fc.assert(fc.property(fc.maxSafeNat(), (bytes) => parseBytes(String(bytes)) === bytes))
})

t.test('every format accepts its example and valid texts, and rejects invalid texts', async (t) => {
  const table: Readonly<Record<string, readonly [right: readonly string[], wrong: readonly string[]]>> = {
    duration: [
      ['30s', 'PT5M'],
      ['30', 'soon'],
    ],
    bytes: [
      ['1024', '64kB'],
      ['64 kB', 'many'],
    ],
    cidr: [
      ['10.0.0.0/8', '0.0.0.0/0', '::/0', 'fc00::/7', '::1/128', '192.168.0.1', '::1', '::ffff:10.0.0.1/104'],
      [
        '',
        '10.0.0.0/33',
        '10.0.0.0/',
        '10.0.0.0/08',
        '10.0.0.0/-1',
        '10.0.0/8',
        '010.0.0.1',
        '::1/129',
        'fe80::1%eth0',
        '10.0.0.0/8/8',
        ' 10.0.0.0/8',
        '10.0.0.0/8 ',
        'localhost',
        '/8',
        '10.0.0.0/1e1',
      ],
    ],
    url: [
      [
        'http://localhost:3000',
        'https://example.com/a?b=c#d',
        'http://[::1]:80/',
        'https://例子.中国/',
        'HTTPS://EXAMPLE.COM',
      ],
      [
        '',
        'example.com',
        'ftp://example.com',
        'javascript:alert(1)',
        'http:example.com',
        'http:/example.com',
        'http://',
        'http:\\\\example.com',
        'https://user:pw@example.com',
        'https://user@example.com',
        ' https://example.com',
        'https://exa mple.com',
        'https://example.com/a b',
        'http://example.com:99999',
        'https://example.com\n',
      ],
    ],
    'url-with-credentials': [['https://user:pw@example.com', 'https://example.com'], ['redis://user:pw@example.com']],
    host: [
      ['localhost', 'db.example.com', 'a-b.c', '127.0.0.1', '::1', 'xn--fiqs8s', '1and1.com'],
      [
        '',
        '-a',
        'a-',
        'a..b',
        'a.',
        'my_db',
        'a:80',
        'http://a',
        '999.1.1.1',
        '1',
        'a.0x1f',
        '[::1]',
        'a b',
        `${'a'.repeat(64)}.com`,
      ],
    ],
    email: [
      ['name@example.com', 'first.last+tag@sub.example.co', 'root@localhost'],
      [
        '',
        'name',
        '@example.com',
        'name@',
        'a b@example.com',
        'name@-a.com',
        'a@b@c',
        'Name <name@example.com>',
        `a@${'a.'.repeat(130)}b`,
      ],
    ],
    'time-zone': [
      ['Asia/Shanghai', 'UTC', 'Europe/Berlin'],
      ['', 'Mars/Olympus', '+08:00', 'Asia/', ' UTC'],
    ],
    locale: [
      ['en', 'zh-CN', 'zh-Hans-CN', 'pt-BR'],
      ['', 'en_US', 'e', 'zh-', 'not a locale'],
    ],
  }
  t.same(Object.keys(formats).sort(), Object.keys(table).sort(), 'no format without a case')
  for (const [name, { validate, example, rule }] of Object.entries(formats)) {
    const [right, wrong] = table[name] ?? [[], []]
    t.ok(rule.en.length > 5 && /[\u4e00-\u9fff]/.test(rule['zh-CN']), `${name} states its rule in both languages`)
    for (const text of [example, ...right]) t.equal(validate(text), true, `${name} accepts ${JSON.stringify(text)}`)
    for (const text of wrong) t.equal(validate(text), false, `${name} refuses ${JSON.stringify(text)}`)
  }
})

t.test('no format throws, whatever text it is given', async (t) => {
  for (const [name, { validate, decode }] of Object.entries(formats)) {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof validate(text) === 'boolean'))
    if (decode) fc.assert(fc.property(fc.string(), (text) => validate(text) === (decode(text) !== undefined)))
    t.pass(name)
  }
})
