import { useLanguage } from '../../app/app.tsx'
import { durationInWords, millisecondsOf } from '../../field/schema-rules.ts'
import classes from './cell.module.css'
import { Copied } from './copied.tsx'
import { isStructure, plainText, spoken, useFormats } from './shown-value.ts'

/** Titles of members by name, in the language of the user. */
type Titles = Readonly<Record<string, string>>

const isTime = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(value)

/** Returns a function that shows one value in words. */
function useWords(titles: Titles, format?: unknown): (value: unknown) => string {
  const { translate, language } = useLanguage()
  const formats = useFormats()
  return (value) => {
    const milliseconds = format === 'duration' ? millisecondsOf(String(value)) : undefined
    if (milliseconds !== undefined) return durationInWords(milliseconds, language)
    if (typeof value === 'boolean') return translate(value ? 'admin.yes' : 'admin.no')
    return isTime(value) ? formats.time(value) : plainText(value, titles)
  }
}

interface StructureProps {
  readonly value: unknown
  readonly titles: Titles | undefined
  readonly isWide: boolean
}

/** Shows a structured value by the titles of its members. The button copies it as JSON. */
export function Structure({ value, titles = {}, isWide }: StructureProps) {
  const structure = parsed(value)
  if (!isWide) return <span className={classes.line}>{plainText(structure, titles)}</span>
  if (typeof structure !== 'object') return <pre className={classes.structure}>{String(structure)}</pre>
  return (
    <Copied text={JSON.stringify(structure, undefined, 2)} title="JSON">
      <Members value={structure} titles={titles} />
    </Copied>
  )
}

/** Returns the value of a text that contains JSON; any other value unchanged. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function Members({ value, titles }: { readonly value: unknown; readonly titles: Titles }) {
  const words = useWords(titles)
  if (Array.isArray(value) && value.some((item) => typeof item === 'object'))
    return (
      <ol className={classes.items}>
        {value.map((item, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items of a response have no key, and their order does not change
          <li key={at}>
            <Members value={item} titles={titles} />
          </li>
        ))}
      </ol>
    )
  if (!isStructure(value)) return <span className={classes.whole}>{words(value)}</span>
  return (
    <dl className={classes.members}>
      {Object.entries(value).map(([name, member]) => (
        <div key={name}>
          <dt>{titles[name] ?? spoken(name)}</dt>
          <dd>{member === null || member === '' ? '–' : <Members value={member} titles={titles} />}</dd>
        </div>
      ))}
    </dl>
  )
}

interface DifferenceProps {
  readonly before: unknown
  readonly after: unknown
  /** Format of both values. */
  readonly format?: unknown
  /** Value that applies where one of both values is missing. */
  readonly fallback?: unknown
  readonly titles: Titles | undefined
  readonly isWide: boolean
}

/** Shows what a value was and what it became. For structures, shows the members that differ. */
export function Difference({ before, after, format, fallback, titles = {}, isWide }: DifferenceProps) {
  if (isStructure(before) || isStructure(after)) {
    const [old, next] = [isStructure(before) ? before : {}, isStructure(after) ? after : {}]
    const names = [...new Set([...Object.keys(old), ...Object.keys(next)])]
    const changed = names.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(next[name]))
    return (
      <dl className={classes.members}>
        {changed.map((name) => (
          <div key={name}>
            <dt>{titles[name] ?? spoken(name)}</dt>
            <dd>
              <Values before={old[name]} after={next[name]} titles={titles} isWide={isWide} />
            </dd>
          </div>
        ))}
      </dl>
    )
  }
  return <Values {...{ before, after, format, fallback, titles, isWide }} />
}

function Values({ before, after, format, fallback, titles = {}, isWide }: DifferenceProps) {
  const { translate } = useLanguage()
  const words = useWords(titles, format)
  const line = isWide ? classes.whole : classes.line
  const textOf = (value: unknown) => {
    if (value !== undefined && value !== null) return words(value)
    return fallback === undefined ? undefined : translate('admin.not-stored', { value: words(fallback) })
  }
  const [old, next] = [textOf(before), textOf(after)]
  return (
    <span className={classes.difference}>
      {old !== undefined && <del className={line}>{old}</del>}
      {next === undefined ? <span className={classes.none}>–</span> : <ins className={line}>{next}</ins>}
    </span>
  )
}
