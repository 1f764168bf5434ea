import { knownValueOr } from '../../../app/answer.ts'
import { useLanguage } from '../../../app/app.tsx'
import type { Translate } from '../../../text/texts.ts'
import { plainText, useFormats } from '../../pages/shown-value.ts'
import type { ConfigItem } from './config-types.ts'
import classes from './value-text.module.css'

const sources = ['default', 'file', 'dotenv', 'environment', 'database', 'command-line'] as const

export const sourceText = (translate: Translate, source: string) => {
  const name = knownValueOr(['', ...sources], source, '')
  return name === '' ? source : translate(`config.source.${name}`)
}

/** Shows each source that sets a value of the key, the strongest first, and further properties of the key. */
export function SourceChain({ item }: { readonly item: ConfigItem }) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const { sensitive, stored, schema = {} } = item
  const facts: readonly (readonly [string, string | undefined])[] = [
    [translate('config.fact.env'), item.env],
    [translate('config.fact.plugin'), item.plugin],
    [translate('config.fact.type'), typeText(schema)],
    [translate('config.fact.version'), stored && String(item.version)],
    [
      translate('config.fact.stored'),
      stored &&
        translate('config.fact.stored-by', {
          name: stored.updatedBy ?? translate('config.fact.other-operator'),
          time: formats.time(stored.updatedAt),
        }),
    ],
    [translate('config.fact.examples'), item.examples?.map((example) => JSON.stringify(example)).join(', ')],
  ]
  return (
    <div className={classes.details}>
      {item.sources.length > 0 && (
        <table className={classes.chain}>
          <caption>{translate('config.chain')}</caption>
          <thead>
            <tr>
              <th scope="col">{translate('config.chain-source')}</th>
              <th scope="col">{translate('config.chain-value')}</th>
              <th scope="col">{translate('config.chain-place')}</th>
            </tr>
          </thead>
          <tbody>
            {item.sources.toReversed().map(({ source, place, value, active }) => (
              <tr key={`${source} ${place}`} data-active={active || undefined}>
                <th scope="row">
                  {sourceText(translate, source)}
                  {active && <span className={classes.active}>{translate('config.in-force')}</span>}
                </th>
                <td>
                  <ValueText value={value} isSecret={sensitive} />
                </td>
                <td className={classes.place}>{place}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <dl className={classes.facts}>
        {facts.map(([name, text]) =>
          text === undefined || text === '' ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ),
        )}
      </dl>
    </div>
  )
}

/** Returns a text with type, format and limits of the schema. */
function typeText(schema: Readonly<Record<string, unknown>>): string {
  const limits = ['minimum', 'maximum', 'formatMinimum', 'formatMaximum', 'minLength', 'maxLength', 'pattern']
    .filter((name) => name in schema)
    .map((name) => `${name}: ${String(schema[name])}`)
  return [String(schema['format'] ?? schema['type'] ?? ''), ...limits].join(' · ')
}

/** Text that is shown instead of every secret. */
const mask = '••••••'

/** Returns a value as text on one line. */
function valueText(translate: Translate, value: unknown, isSecret: boolean): string {
  if (value === undefined || value === null) return translate('config.value.none')
  if (isSecret) return mask
  if (typeof value === 'boolean') return translate(value ? 'schema.on' : 'schema.off')
  if (value === '' || (Array.isArray(value) && value.length === 0)) return translate('config.value.empty')
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return value.map((item) => plainText(item)).join(', ')
  return plainText(value)
}

interface ValueTextProps {
  readonly value: unknown
  readonly isSecret?: boolean
}

export function ValueText({ value, isSecret = false }: ValueTextProps) {
  const { translate } = useLanguage()
  const text = valueText(translate, value, isSecret)
  const isQuiet = value === undefined || value === null || value === ''
  return (
    <span className={classes.value} data-quiet={isQuiet || undefined} title={text}>
      {text}
    </span>
  )
}

/** Shows where a secret is sent: the keys of its destination with their values. */
export function SentTo({ values }: { readonly values: readonly (readonly [key: string, value: unknown])[] }) {
  const { translate } = useLanguage()
  return (
    <p className={classes.sentTo}>
      {translate('config.sent-to')}{' '}
      {values.map(([key, value]) => (
        <span key={key}>
          <code>{key}</code> <ValueText value={value} />{' '}
        </span>
      ))}
    </p>
  )
}

/** Shows the change from one value to another. */
export function Change({ before, after, isSecret }: { before: unknown; after: unknown; readonly isSecret: boolean }) {
  const { translate } = useLanguage()
  return (
    <span className={classes.change}>
      <del>
        <span className="visually-hidden">{translate('config.value.before')} </span>
        <ValueText value={before} isSecret={isSecret} />
      </del>
      <span aria-hidden>→</span>
      <ins>
        <span className="visually-hidden">{translate('config.value.after')} </span>
        {isSecret && after !== undefined ? translate('config.value.new-secret') : <ValueText value={after} />}
      </ins>
    </span>
  )
}
