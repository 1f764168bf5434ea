import { NativeSelect, PasswordInput, Switch, Textarea, TextInput } from '@mantine/core'
import { createElement, Fragment, type ReactNode } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import type { Field, Json, Unit } from '../../api/page-types.ts'
import { LabelPicker, LabelsPicker } from './label-picker.tsx'

/** Renders a text of the API description. Text between backticks is shown as code. */
function codeSpans(text: string): ReactNode {
  const parts = text.split(/`([^`]+)`/)
  return createElement(
    Fragment,
    null,
    ...parts.map((part, at) => (at % 2 === 1 ? createElement('code', null, part) : part)),
  )
}

/** Content of a form field, as typed. It is converted according to the schema when it is sent. */
export type Typed = string | boolean | readonly string[]

/** Returns the allowed values of a schema as texts; `undefined` if the schema does not list its values. */
export function choicesOf(schema: Json): readonly string[] | undefined {
  if (schema['type'] === 'boolean') return ['true', 'false']
  const values = (schema['enum'] ??
    (schema['anyOf'] as readonly Json[] | undefined)?.flatMap((one) => ('const' in one ? [one['const']] : []))) as
    | readonly unknown[]
    | undefined
  return values === undefined || values.length === 0 ? undefined : values.map(String)
}

/** Returns the initial content of a field. */
export function typedOf(value: unknown, { schema, required }: Field): Typed {
  if (typeof value === 'boolean') return value
  if (isSwitch(schema, required)) return schema['default'] === true
  if (isSimpleList(schema)) return Array.isArray(value) ? value.map(idOf) : []
  if (value === undefined || value === null) return schema['default'] === undefined ? '' : String(schema['default'])
  return typeof value === 'object' ? JSON.stringify(value, undefined, 2) : String(value)
}

/**
 * True if the schema is shown as a switch. An optional boolean without a default has three possible values, so it is
 * shown as a choice.
 */
const isSwitch = (schema: Json, required: boolean) =>
  schema['type'] === 'boolean' && (required || schema['default'] !== undefined)
const isSimpleList = (schema: Json) => schema['type'] === 'array' && (schema['items'] as Json)?.['type'] !== 'object'
const structures = new Set(['object', 'array'])

/** Returns the id of an object. Forms represent objects by their ids. */
const idOf = (item: unknown) =>
  typeof item === 'object' && item !== null && 'id' in item ? String(item.id) : String(item)

/**
 * Returns the value to send; `undefined` if the member is omitted.
 * @throws SyntaxError if the text is not valid JSON
 */
export function sentOf(typed: Typed, { schema, nullable, required }: Field): unknown {
  if (typeof typed === 'boolean') return typed
  if (typeof typed !== 'string') {
    const isNumeric = numeric.has(String((schema['items'] as Json | undefined)?.['type']))
    return typed.map((item) => (isNumeric ? Number(item) : item))
  }
  if (typed === '' && !(required && schema['type'] === 'string')) return nullable ? null : undefined
  const type = String(schema['type'])
  if (numeric.has(type)) return Number.isNaN(Number(typed)) ? typed : Number(typed)
  if (type === 'boolean') return typed === 'true'
  return structures.has(type) ? JSON.parse(typed) : typed
}

const numeric = new Set(['integer', 'number'])

interface FieldInputProps {
  readonly id: string
  readonly field: Field
  readonly value: Typed
  readonly error: string | undefined
  readonly isSecret: boolean
  readonly isLong: boolean
  /** Kind of the objects from which the user chooses, if the field contains an id. */
  readonly kind: string | undefined
  /** Unit of a typed amount. */
  readonly unit: Unit | undefined
  onChange(value: Typed): void
}

/** Shows the control for one member. The schema of the member determines the kind of control. */
export function FieldInput({ id, field, value, error, isSecret, isLong, kind, unit, onChange }: FieldInputProps) {
  const { translate } = useSpeech()
  const { title, required, schema, nullable, labels } = field
  const said = field.description === undefined ? undefined : codeSpans(field.description)
  const description =
    unit === undefined ? (
      said
    ) : (
      <>
        {said} {translate('admin.amount.unit', { unit: unit.symbol ?? unit.displayName })}
      </>
    )
  if (typeof value === 'boolean') {
    return (
      <Switch
        {...{ id, description, error }}
        aria-invalid={error !== undefined}
        label={title}
        checked={value}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    )
  }
  if (typeof value !== 'string') {
    if (kind !== undefined)
      return <LabelsPicker {...{ id, title, description, error, required, kind, value, onChange }} />
    return (
      <Textarea
        {...{ id, error }}
        label={title}
        description={
          <>
            {description} {translate('admin.one-per-line')}
          </>
        }
        withAsterisk={required}
        rows={4}
        value={value.join('\n')}
        onChange={(event) => onChange(event.currentTarget.value.split('\n').filter((line) => line !== ''))}
      />
    )
  }
  const shared = {
    id,
    description,
    error,
    value,
    label: title,
    withAsterisk: required,
    'aria-required': required,
    'aria-invalid': error !== undefined,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  }
  if (kind !== undefined) {
    return (
      <LabelPicker
        {...{ id, title, description, error, required, kind, value }}
        label={title}
        onChange={(chosen) => onChange(chosen ?? '')}
      />
    )
  }
  const choices = choicesOf(schema)
  if (choices !== undefined) {
    const words: Readonly<Record<string, string>> = { true: translate('admin.yes'), false: translate('admin.no') }
    const none = nullable || !required ? [{ value: '', label: '–' }] : []
    return (
      <NativeSelect
        {...shared}
        data={[
          ...none,
          ...choices.map((choice) => ({ value: choice, label: labels?.[choice] ?? words[choice] ?? choice })),
        ]}
      />
    )
  }
  if (isSecret) {
    return (
      <PasswordInput
        {...shared}
        autoComplete={field.name === 'currentPassword' ? 'current-password' : 'new-password'}
        visibilityToggleButtonProps={{ 'aria-label': translate('field.reveal', { label: title }), tabIndex: 0 }}
      />
    )
  }
  if (isLong || structures.has(String(schema['type']))) return <Textarea {...shared} rows={8} spellCheck={false} />
  const isMoment = schema['format'] === 'date-time'
  return (
    <TextInput
      {...shared}
      inputMode={unit !== undefined ? 'decimal' : numeric.has(String(schema['type'])) ? 'numeric' : undefined}
      placeholder={isMoment ? '2026-01-31T12:00:00Z' : undefined}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  )
}
