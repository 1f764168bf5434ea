import { Input, NativeSelect, PasswordInput, Switch, Textarea, TextInput } from '@mantine/core'
import { createElement, Fragment, lazy, type ReactNode } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Boundary } from '../../../app/boundary.tsx'
import { type BrokenSchemaRule, timePattern } from '../../../field/schema-rules.ts'
import { ValueField } from '../../../field/value-field.tsx'
import type { AmountUnit, Field } from '../../api/page-types.ts'
import { useZone } from '../../shell/zone.ts'
import classes from './field-input.module.css'
import { choicesOf, isList, isNumeric, isStructure, type Typed } from './field-values.ts'
import { LabelPicker, LabelsPicker } from './label-picker.tsx'
import type { KnownChoices } from './linked-fields.ts'

/** The code of this control is loaded with the first date field. */
const DateField = lazy(() => import('./date-field.tsx'))
/** Few forms have files, so this control is loaded with the first one. */
const FileField = lazy(() => import('./file-field.tsx'))

/** Renders a help text. Text between backticks is shown as code. */
function codeSpans(text: string): ReactNode {
  const parts = text.split(/`([^`]+)`/)
  return createElement(
    Fragment,
    null,
    ...parts.map((part, at) => (at % 2 === 1 ? createElement('code', null, part) : part)),
  )
}

interface FieldInputProps {
  readonly id: string
  readonly field: Field
  readonly value: Typed
  readonly error: string | undefined
  /** Rules that parts of the value break. */
  readonly rules: readonly BrokenSchemaRule[]
  readonly isSecret: boolean
  readonly isLong: boolean
  /** Unit of a typed amount. */
  readonly unit: AmountUnit | undefined
  /** Choices that an operation returns. */
  readonly source: KnownChoices | undefined
  /** The member of the object that the form changes. */
  readonly stored: unknown
  /** Keeps the form from being sent, with the reason; `undefined` to release it. */
  onHold(problem: string | undefined): void
  /** Returns the title of another field. */
  titleOf(name: string): string
  onChange(value: Typed): void
  /** Called when the user leaves the field. */
  onLeave(): void
}

/** Shows the control for one member. The schema of the member determines the kind of control. */
export function FieldInput({
  id,
  field,
  value,
  error,
  rules,
  isSecret,
  isLong,
  unit,
  source,
  stored,
  onHold,
  titleOf,
  onChange,
  onLeave,
}: FieldInputProps) {
  const { translate } = useLanguage()
  const { name: zone } = useZone()
  const { title, required, schema, nullable, labels } = field
  const kind = field.options ?? source
  const hints = [
    unit && translate('admin.amount.unit', { unit: unit.symbol ?? unit.displayName }),
    source?.missing && translate('admin.choices.first', { title: titleOf(source.missing) }),
    field.choices?.allowed === false &&
      translate('admin.choices.forbidden', { permission: field.choices.permission ?? '' }),
  ].filter((hint) => typeof hint === 'string')
  const said = field.description === undefined ? undefined : codeSpans(field.description)
  const description =
    hints.length === 0 ? (
      said
    ) : (
      <>
        {said} {hints.join(' ')}
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
  if (isList(field) && kind !== undefined) {
    const chosen = Array.isArray(value) ? value.map(String) : []
    return (
      <LabelsPicker {...{ id, title, description, error, required, kind, onChange }} value={chosen} onLeave={onLeave} />
    )
  }
  if (isList(field) || isStructure(field)) {
    return (
      <Input.Wrapper
        label={title}
        labelElement="div"
        description={description}
        descriptionProps={{ id: `${id}-help` }}
        withAsterisk={required}
        onBlur={onLeave}
        className={classes.parts}
      >
        <ValueField
          {...{ id, schema, value, error, rules, labels, onChange }}
          label={title}
          describedBy={description === undefined ? undefined : `${id}-help`}
        />
      </Input.Wrapper>
    )
  }
  const text = String(value ?? '')
  const shared = {
    id,
    description,
    error,
    value: text,
    label: title,
    withAsterisk: required,
    'aria-required': required,
    'aria-invalid': error !== undefined,
    onBlur: onLeave,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  }
  if (field.upload !== undefined) {
    return (
      <Boundary place={() => <TextInput {...shared} readOnly />} waiting={<TextInput {...shared} disabled />}>
        <FileField
          {...{ id, field, description, error, stored, onChange, onHold }}
          upload={field.upload}
          value={text}
        />
      </Boundary>
    )
  }
  if (kind !== undefined) {
    return (
      <LabelPicker
        {...{ id, title, description, error, required, kind }}
        value={text}
        label={title}
        onChange={(chosen) => onChange(chosen ?? '')}
        onLeave={onLeave}
      />
    )
  }
  const choices = choicesOf(schema)
  if (choices !== undefined) {
    const words: Readonly<Record<string, string>> = { true: translate('admin.yes'), false: translate('admin.no') }
    // An optional switch that the user leaves alone is not sent, so the server chooses.
    const isDefault = schema['type'] === 'boolean' && !required && !nullable
    const label = isDefault ? translate('admin.by-default') : '–'
    const none = nullable || !required || text === '' ? [{ value: '', label }] : []
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
  const { format, pattern } = schema
  if (format === 'date-time' || format === 'date') {
    return (
      // Without a network, the code of the control cannot be loaded. The user then types the date as text.
      <Boundary place={() => <TextInput {...shared} />} waiting={<TextInput {...shared} disabled />}>
        <DateField {...{ id, error, required, zone, onChange, onLeave }} withTime={format === 'date-time'} value={text}>
          {{ title, description }}
        </DateField>
      </Boundary>
    )
  }
  if (isLong) return <Textarea {...shared} rows={8} spellCheck={false} />
  return (
    <TextInput
      {...shared}
      type={pattern === timePattern ? 'time' : 'text'}
      inputMode={unit !== undefined ? 'decimal' : isNumeric(schema) ? 'numeric' : undefined}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  )
}
