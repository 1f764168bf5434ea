import { Checkbox, Textarea } from '@mantine/core'
import { useLanguage } from '../app/app.tsx'
import { SchemaField } from './schema-field.tsx'
import {
  type BrokenSchemaRule,
  bytesInWords,
  durationInWords,
  itemSchema,
  millisecondsOf,
  parseByteSize,
  type Schema,
} from './schema-rules.ts'
import classes from './value-field.module.css'

/*
 * Editors for values that contain no other editors. A list of other values and a structure with members are edited in
 * `value-field.tsx`.
 */

export interface ValueFieldProps {
  readonly id: string
  /** Label for screen readers. The visible label is outside of the field. */
  readonly label: string
  readonly describedBy?: string | undefined
  readonly schema: Schema
  /** The current input. `writtenOf` converts it to the value to send. */
  readonly value: unknown
  readonly error?: string | undefined
  /** Rules that parts of the value break, with paths relative to the value. Each is shown at its part. */
  readonly rules?: readonly BrokenSchemaRule[]
  /** Texts for the values of an enum. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly isSecret?: boolean
  readonly placeholder?: string | undefined
  onChange(value: unknown): void
}

const timeZones = () => Intl.supportedValuesOf('timeZone').map((value) => ({ value, label: '' }))

export function OneField(props: ValueFieldProps) {
  const { schema, value, error, isSecret, describedBy, placeholder, labels, rules: _, ...field } = props
  const { translate } = useLanguage()
  const values = schema['enum'] as readonly unknown[] | undefined
  const isZone = schema['format'] === 'time-zone'
  const isNumber = schema['type'] === 'integer' || schema['type'] === 'number'
  const input = isSecret
    ? 'password'
    : schema['type'] === 'boolean'
      ? 'switch'
      : values !== undefined
        ? 'select'
        : isZone
          ? 'combobox'
          : isNumber
            ? 'number'
            : 'text'
  // The current value may be missing, or not in the enum. The field must not show another value instead.
  const texts = values?.map(String) ?? []
  const current = String(value ?? '')
  const unknown = texts.includes(current) ? [] : [{ value: current, label: current === '' ? '–' : current }]
  const choices = texts.map((one) => ({ value: one, label: labels?.[one] ?? one }))
  return (
    <div className={classes.one} data-input={input} data-format={String(schema['format'] ?? '')}>
      <SchemaField
        {...field}
        description=""
        error={error}
        beside={{
          label: undefined,
          description: undefined,
          'aria-label': field.label,
          'aria-describedby': describedBy,
        }}
        isRequired={false}
        input={input}
        candidates={isZone ? timeZones() : [...unknown, ...choices]}
        placeholder={placeholder}
        autocomplete={isSecret ? 'new-password' : undefined}
        value={input === 'switch' ? value === true : current}
        onChange={(next) => field.onChange(typed(next, values))}
        onLeave={() => {}}
      />
      {input === 'switch' && (
        <span className={classes.hint} aria-hidden>
          {translate(value === true ? 'schema.on' : 'schema.off')}
        </span>
      )}
      <AmountHint format={schema['format']} text={current} />
    </div>
  )
}

/** Returns the enum value that belongs to the chosen text. It may be a number. */
const typed = (next: string | boolean, values: readonly unknown[] | undefined) =>
  values?.find((one) => String(one) === next) ?? next

/** Shows the value of a duration or a size in words. */
function AmountHint({ format, text }: { readonly format: unknown; readonly text: string }) {
  const { language } = useLanguage()
  const milliseconds = format === 'duration' ? millisecondsOf(text) : undefined
  const bytes = format === 'bytes' ? parseByteSize(text) : undefined
  if (milliseconds !== undefined)
    return <span className={classes.hint}>= {durationInWords(milliseconds, language)}</span>
  return bytes === undefined ? null : <span className={classes.hint}>= {bytesInWords(bytes, language)}</span>
}

/** Returns the properties that the input components of Mantine accept. */
const bare = ({ id, label, describedBy, error, placeholder }: ValueFieldProps) => ({
  id,
  error,
  placeholder,
  'aria-label': label,
  'aria-describedby': describedBy,
  'aria-invalid': error !== undefined,
  autoComplete: 'off',
  spellCheck: false,
})

export function LongEditor(props: ValueFieldProps) {
  return (
    <Textarea
      {...bare(props)}
      rows={3}
      value={String(props.value ?? '')}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  )
}

/** Editor for a structure whose schema lists no members: JSON as text. */
export function StructureEditor(props: ValueFieldProps) {
  const { value } = props
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? {}, undefined, 2)
  return (
    <Textarea
      {...bare(props)}
      rows={Math.min(14, text.split('\n').length + 1)}
      classNames={{ input: classes.code }}
      value={text}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  )
}

/** Editor for several values of an enum. */
export function ChoicesEditor({ id, label, describedBy, schema, value, error, labels, onChange }: ValueFieldProps) {
  const chosen = new Set(Array.isArray(value) ? value : [])
  const values = itemSchema(schema)['enum'] as readonly unknown[]
  const toggle = (one: unknown) =>
    onChange(chosen.has(one) ? [...chosen].filter((other) => other !== one) : [...chosen, one])
  return (
    <fieldset className={classes.choices} aria-label={label} aria-describedby={describedBy}>
      {[...new Set([...values, ...chosen])].map((one, index) => (
        <Checkbox
          key={String(one)}
          id={index === 0 ? id : `${id}-${index}`}
          label={labels?.[String(one)] ?? String(one)}
          size="sm"
          checked={chosen.has(one)}
          onChange={() => toggle(one)}
        />
      ))}
      <Fault error={error} />
    </fieldset>
  )
}

export const Fault = ({ error }: { readonly error: string | undefined }) =>
  error === undefined ? null : <p className={classes.error}>{error}</p>
