import type { Random } from './random.ts'

/** The parts of JSON Schema that the API description uses. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** Text that is inserted into a JSON body unchanged, because no function that writes JSON would produce it. */
class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const nested = (open: string, close: string, depth: number) => new Raw(open.repeat(depth) + close.repeat(depth))

const wrongTypes: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 53,
  -(2 ** 63),
  '',
  'text',
  [],
  {},
  [[]],
  [{}],
]
const oddNumbers: readonly unknown[] = [
  '1e400',
  '-1e400',
  '1e-400',
  '-0',
  '9'.repeat(400),
  'NaN',
  'Infinity',
  '0x10',
  '01',
].map((text) => new Raw(text))
const oddTexts: readonly unknown[] = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00\ud800',
  'ﷺ'.repeat(100),
  '𝒳'.repeat(2_000),
  'e\u0301'.repeat(500),
  '\u202etxt.exe',
  ' \t\r\n ',
  'x'.repeat(300),
  'x'.repeat(100_000),
  `${'a'.repeat(30_000)}!`,
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  "' or 1=1 --",
  '%_%',
  '{{constructor.constructor("return 1")()}}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: an attack as it is sent
  '${7*7}',
  '=1+1',
  '../../../../etc/passwd',
  '..\\..\\boot.ini',
  '/dev/zero',
  'javascript:alert(1)',
  '<script>alert(1)</script>',
  '\r\nX-Injected: yes',
  '2026-02-30T25:61:61Z',
  '9999999999-12-31',
  '(a+)+$',
  'null',
]
const hugeShapes: readonly unknown[] = [
  nested('[', ']', 5_000),
  nested('{"a":', '}', 5_000),
  new Raw(`[${'1,'.repeat(20_000)}1]`),
  new Raw(`{${Array.from({ length: 5_000 }, (_, index) => `"k${index}":1`).join(',')}}`),
]
const prototypeMembers: readonly unknown[] = [
  new Raw('{"__proto__":{"isAdmin":true}}'),
  new Raw('{"constructor":{"prototype":{"isAdmin":true}}}'),
  new Raw('{"__proto__":null,"toString":1,"valueOf":{},"then":"x","hasOwnProperty":0,"length":-1}'),
]

/** Returns a value that only an attacker would send. */
export function hostileValue(random: Random): unknown {
  return random.pick(random.pick([wrongTypes, oddNumbers, oddTexts, oddTexts, hugeShapes, prototypeMembers]))
}

export const hostileText = (random: Random) => String(random.pick(oddTexts))

const likely: Readonly<Record<string, readonly unknown[]>> = {
  // The hosts in these values are loopback addresses or invalid, because a fuzz test must not contact another host.
  host: ['127.0.0.1', '', '127.0.0.1\u0000', '[::1]', '127.0.0.1:1'],
  url: ['http://127.0.0.1:9/', 'https://localhost', 'file:///etc/passwd', '//', 'http://[::1'],
  port: [0, 1, 9, 65_535, 65_536, -1],
  key: ['platform.log.level', 'platform.http.body-limit', 'platform.iam.password.pattern', 'platform.install.token'],
  action: ['set', 'unset', 'reset'],
  username: ['fuzz-user', 'Fuzz-User', '用户', '0x52908400098527886E0F7030069857D2E4169EE7'],
  email: ['user@example.com', 'USER@example.com', 'a@b', `${'a'.repeat(64)}@example.com`],
  mobile: ['+8613800000000', '13800000000', '+86 138 0000 0000'],
  channels: [['log'], ['memory'], ['log', 'memory'], ['none'], []],
}

const typeOf = ({ type }: Schema) => (type === 'integer' ? 'number' : type)

/** Returns a value that satisfies the schema. `name` is the name of the member. */
export function likelyValue(
  schema: Schema,
  random: Random,
  name = '',
  seen: readonly unknown[] = [],
  depth = 0,
): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return random.pick(schema.enum)
  if (name in likely && (name === 'host' || random.chance(0.7))) return random.pick(likely[name] as readonly unknown[])
  const known = /ids?$|^(?:version|key|name|code|moduleCode)$/i.test(name)
    ? seen.filter((value) => typeof value === typeOf(schema))
    : []
  if (known.length > 0 && random.chance(0.7)) return random.pick(known)
  if (schema.anyOf !== undefined) return likelyValue(random.pick(schema.anyOf), random, name, seen, depth)
  const type = typeof schema.type === 'string' ? schema.type : random.pick(schema.type ?? ['string'])
  if (type === 'object') {
    const members = Object.entries(schema.properties ?? {})
    const isKept = (member: string) => schema.required?.includes(member) || random.chance(depth > 3 ? 0.2 : 0.7)
    return Object.fromEntries(
      members
        .filter(([member]) => isKept(member))
        .map(([member, of]) => [member, likelyValue(of, random, member, seen, depth + 1)]),
    )
  }
  if (type === 'array') {
    const length = Math.min(schema.maxItems ?? 3, (schema.minItems ?? 0) + random.integer(3))
    return Array.from({ length }, () =>
      likelyValue(schema.items ?? {}, random, name.replace(/s$/, ''), seen, depth + 1),
    )
  }
  if (type === 'integer' || type === 'number') {
    const low = schema.minimum ?? 0
    return random.pick([
      low,
      low + 1,
      Math.min(schema.maximum ?? low + 20, low + random.integer(1_000)),
      schema.maximum ?? low,
    ])
  }
  if (type === 'boolean') return random.chance(0.5)
  if (type === 'null') return null
  const text = random.pick(['abc', 'fuzz', '1', 'log', 'a b', '数据', ''])
  return text.padEnd(schema.minLength ?? 0, 'x').slice(0, schema.maxLength ?? 100)
}

/** Returns the JSON text of a value. `Raw` values are inserted unchanged, and lone surrogates are escaped. */
export function toParameterText(value: unknown): string {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(toParameterText).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(name)}:${toParameterText(member)}`)
      .join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

/** Returns the value after inserting a hostile value at a random place. */
export function spoilValue(value: unknown, random: Random): unknown {
  const branch = typeof value === 'object' && value !== null && !(value instanceof Raw) ? value : {}
  const names = Object.keys(branch)
  if (names.length === 0 || random.chance(0.15)) return hostileValue(random)
  const name = random.pick(names)
  if (name === 'host') return { ...branch, host: random.pick(likely['host'] as readonly unknown[]) }
  const changed = spoilValue((branch as Record<string, unknown>)[name], random)
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === name ? changed : item))
  return { ...branch, [name]: changed, ...(random.chance(0.1) ? { [hostileText(random)]: hostileValue(random) } : {}) }
}
