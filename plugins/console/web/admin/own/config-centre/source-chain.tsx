import { known } from '../../../app/answer.ts'
import { useSpeech } from '../../../app/app.tsx'
import type { Say } from '../../../text/texts.ts'
import { useFormats } from '../../pages/shown-value.ts'
import type { ConfigItem } from './config-types.ts'
import classes from './source-chain.module.css'
import { ValueText } from './value-text.tsx'

const sources = ['default', 'file', 'dotenv', 'environment', 'database', 'command-line'] as const

export const sourceText = (say: Say, source: string) => {
  const name = known(['', ...sources], source, '')
  return name === '' ? source : say(`config.source.${name}`)
}

/** Every source that gives a value, the strongest first, and what else is known of a key. */
export function SourceChain({ item }: { readonly item: ConfigItem }) {
  const { say } = useSpeech()
  const formats = useFormats()
  const { sensitive, stored, schema = {} } = item
  const facts: readonly (readonly [string, string | undefined])[] = [
    [say('config.fact.env'), item.env],
    [say('config.fact.plugin'), item.plugin],
    [say('config.fact.type'), typeText(schema)],
    [say('config.fact.version'), stored && String(item.version)],
    [
      say('config.fact.stored'),
      stored &&
        say('config.fact.stored-by', {
          name: stored.updatedBy ?? say('config.fact.other-operator'),
          time: formats.time(stored.updatedAt),
        }),
    ],
    [say('config.fact.examples'), item.examples?.map((example) => JSON.stringify(example)).join(', ')],
  ]
  return (
    <div className={classes.details}>
      {item.sources.length > 0 && (
        <table className={classes.chain}>
          <caption>{say('config.chain')}</caption>
          <thead>
            <tr>
              <th scope="col">{say('config.chain-source')}</th>
              <th scope="col">{say('config.chain-value')}</th>
              <th scope="col">{say('config.chain-place')}</th>
            </tr>
          </thead>
          <tbody>
            {item.sources.toReversed().map(({ source, place, value, active }) => (
              <tr key={`${source} ${place}`} data-active={active || undefined}>
                <th scope="row">
                  {sourceText(say, source)}
                  {active && <span className={classes.active}>{say('config.in-force')}</span>}
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

/** Type, format and limits as the schema writes them. */
function typeText(schema: Readonly<Record<string, unknown>>): string {
  const limits = ['minimum', 'maximum', 'formatMinimum', 'formatMaximum', 'minLength', 'maxLength', 'pattern']
    .filter((name) => name in schema)
    .map((name) => `${name}: ${String(schema[name])}`)
  return [String(schema['format'] ?? schema['type'] ?? ''), ...limits].join(' · ')
}
