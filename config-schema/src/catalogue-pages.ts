import { type CatalogueEntry, groupsOf } from './catalogue.ts'
import {
  environmentName,
  type JsonSchema,
  type JsonValue,
  type Localized,
  languageOf,
  localize,
} from './declaration.ts'
import { writeEnvValue } from './env-file.ts'
import { keywords } from './keywords.ts'

const words = {
  en: {
    title: 'Configuration keys',
    about:
      'The environment variable of a key is the key in upper case, with `_` instead of `.` and `-`. A change takes effect immediately, unless the meaning of the key says otherwise.',
    head: ['Key', 'Meaning', 'Type', 'Default'],
    restart: 'Takes effect after a restart.',
    variable: (name: string) => `Environment variable: \`${name}\`.`,
    required: 'required',
    none: 'none',
    sensitive: 'Secret.',
    locked: 'Not editable in the configuration centre.',
    process: 'Set per process.',
    permission: (code: string) => `Needs the permission \`${code}\`.`,
    must: (rules: readonly string[]) => `Must ${rules.join(' and ')}.`,
    items: (rules: readonly string[]) => `Each item must ${rules.join(' and ')}.`,
    deprecated: (since: string, replacement?: string) =>
      `Deprecated since ${since}${replacement === undefined ? '' : `, use \`${replacement}\``}.`,
  },
  'zh-CN': {
    title: '配置项',
    about: '配置项的环境变量是其大写名称，其中 `.` 和 `-` 替换为 `_`。除非说明中另有规定，更改立即生效。',
    head: ['配置项', '说明', '类型', '默认值'],
    restart: '重启后生效。',
    variable: (name: string) => `环境变量：\`${name}\`。`,
    required: '必填',
    none: '无',
    sensitive: '敏感信息。',
    locked: '不能在配置中心修改。',
    process: '在启动进程处设置。',
    permission: (code: string) => `需要权限 \`${code}\`。`,
    must: (rules: readonly string[]) => `必须${rules.join('，且')}。`,
    items: (rules: readonly string[]) => `每一项必须${rules.join('，且')}。`,
    deprecated: (since: string, replacement?: string) =>
      `自 ${since} 起弃用${replacement === undefined ? '' : `，请改用 \`${replacement}\``}。`,
  },
}

/**
 * Returns the reference page of all keys in Markdown, with one table for each group.
 *
 * @param locale language of the page; `zh-CN` for every Chinese tag, otherwise English
 */
export function catalogueToMarkdown(entries: readonly CatalogueEntry[], locale: string): string {
  const word = words[languageOf(locale)]
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rulesOf = (schema: JsonSchema, pattern?: Localized) =>
    Object.entries(schema).flatMap(([name, operand]) => {
      if (annotations.has(name)) return []
      const isPattern = name === 'pattern'
      const rule = isPattern && pattern ? pattern : keywords[name]?.rule(isPattern ? `\`${operand}\`` : operand)
      return rule === undefined ? [] : [localize(rule, locale)]
    })
  const sentence = (rules: readonly string[], words: (rules: readonly string[]) => string) =>
    rules.length > 0 && words(rules)
  const meaning = (entry: CatalogueEntry) => {
    const { key, env, schema, title, description, rule, reload, sensitive, editable, scope, permission, deprecated } =
      entry
    const { items } = schema
    return [
      `**${localize(title, locale)}**`,
      description && localize(description, locale),
      sentence(rulesOf(schema, rule), word.must),
      isSchema(items) && sentence(rulesOf(items), word.items),
      reload === 'restart' && word.restart,
      env !== environmentName(key) && word.variable(env),
      sensitive && word.sensitive,
      scope === 'process' ? word.process : !editable && word.locked,
      permission !== undefined && word.permission(permission),
      deprecated && word.deprecated(deprecated.since, deprecated.replacement),
      deprecated?.reason && localize(deprecated.reason, locale),
    ]
      .filter(Boolean)
      .join(' ')
  }
  const sections = groupsOf(entries).map(([group, members]) =>
    [
      `## ${headingOf(group, members, locale)}`,
      '',
      row(word.head),
      row(word.head.map(() => '---')),
      ...members.map((entry) =>
        row([
          code(entry.key),
          cell(meaning(entry)),
          code(entry.format ?? entry.type),
          entry.default === undefined
            ? word[entry.required ? 'required' : 'none']
            : code(JSON.stringify(entry.default)),
        ]),
      ),
      '',
    ].join('\n'),
  )
  return [`# ${word.title}`, '', word.about, '', ...sections].join('\n')
}

/** Keywords that are not rules, or that the column of types already shows. */
const annotations: ReadonlySet<string> = new Set(['format', 'title', 'description'])
const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null

function headingOf(group: string, [first]: readonly CatalogueEntry[], locale: string): string {
  const title = first?.groupTitle
  return title === undefined ? group : `${localize(title, locale)} (${code(group)})`
}

const cell = (text: string) => text.replace(/\|/g, '\\|').replace(/\s*\n\s*/g, ' ')
const code = (text: string) => `\`${cell(text)}\``

/**
 * Returns the content of `.env.example`. Every key is commented out with its default, so a copy of the file changes
 * nothing. Secrets have no value. Shells and `parseEnvFile` can both read the quoting.
 */
export function catalogueToDotenv(entries: readonly CatalogueEntry[]): string {
  const sections = groupsOf(entries).map(([group, members]) => [
    `# ==== ${group} ====`,
    ...members.flatMap(dotenvLines),
  ])
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function dotenvLines({
  key,
  title,
  sensitive,
  required,
  deprecated,
  env,
  default: fallback,
}: CatalogueEntry): string[] {
  const marks = [sensitive && 'secret', required && 'required', deprecated && 'deprecated'].filter(Boolean).join(', ')
  const shown = sensitive || fallback === undefined ? '' : dotenvValue(fallback)
  return ['', `# ${cell(title.en)}${marks && ` (${marks})`}: ${key}`, `# ${env}=${shown}`]
}

/**
 * Returns a text that `parseValueText` converts back to the value. Returns an empty text if no quoting can represent the
 * value on one line.
 */
function dotenvValue(value: JsonValue): string {
  if (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => typeof item === 'string' && /^[\w.:/@%+=-]+$/.test(item))
  ) {
    return value.join(',')
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const written = writeEnvValue(text)
  return written?.isForShells ? written.text : ''
}
