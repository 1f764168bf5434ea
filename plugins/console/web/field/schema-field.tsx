import { NativeSelect, PasswordInput, Switch, TextInput } from '@mantine/core'
import { useId } from 'react'
import { useSpeech } from '../app/app.tsx'
import { known } from '../known.ts'
import { ChoiceCards } from './choice-cards.tsx'
import classes from './schema-field.module.css'

const inputs = ['text', 'password', 'email', 'tel', 'url', 'number', 'switch', 'select', 'combobox'] as const

/** What a field looks like, whatever it belongs to: one key, one schema, one field. */
export interface FieldLook {
  readonly label: string
  readonly description: string
  readonly isRequired: boolean
  /** Kind of control; one that is not known is a field for text. */
  readonly input: string
  readonly candidates: readonly { readonly value: string; readonly label: string }[]
  readonly placeholder?: string | undefined
  readonly autocomplete?: string | undefined
}

interface SchemaFieldProps extends FieldLook {
  /** Element that takes the focus when the field is to be corrected. */
  readonly id: string
  readonly value: string | boolean
  readonly error: string | undefined
  onChange(value: string | boolean): void
  onLeave(): void
}

/** So many choices are worth being seen at once. */
const shownChoices = 4

/** A field for a value, by what its schema says about it. */
export function SchemaField({ id, value, error, onChange, onLeave, ...look }: SchemaFieldProps) {
  const { say } = useSpeech()
  const listId = useId()
  const { label, description, isRequired, candidates, placeholder, autocomplete } = look
  const input = known(inputs, look.input, 'text')
  if (input === 'switch') {
    return (
      <Switch
        id={id}
        label={label}
        description={description}
        error={error}
        classNames={{ track: classes.track }}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    )
  }
  const text = String(value)
  if (input === 'select' && candidates.length <= shownChoices) {
    return <ChoiceCards {...{ id, label, description, candidates, error, onChange }} value={text} />
  }
  const shared = {
    ...{ id, label, description, error, value: text, placeholder, onBlur: onLeave },
    classNames: { error: classes.error },
    withAsterisk: isRequired,
    'aria-required': isRequired,
    // Not every field of the library says so itself.
    'aria-invalid': error !== undefined,
    autoComplete: autocomplete ?? 'off',
    inputWrapperOrder: ['label', 'input', 'error', 'description'] as ('label' | 'input' | 'error' | 'description')[],
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  }
  if (input === 'select') {
    return <NativeSelect {...shared} data={candidates.map((candidate) => ({ ...candidate }))} />
  }
  if (input === 'password') {
    return (
      <PasswordInput
        {...shared}
        visibilityToggleButtonProps={{ 'aria-label': say('field.reveal', { label }), tabIndex: 0 }}
      />
    )
  }
  const kind = input === 'number' || input === 'combobox' ? 'text' : input
  return (
    <>
      <TextInput
        {...shared}
        type={kind}
        inputMode={input === 'number' ? 'numeric' : undefined}
        list={input === 'combobox' ? listId : undefined}
        spellCheck={false}
        autoCapitalize="none"
      />
      {input === 'combobox' && (
        <datalist id={listId}>
          {candidates.map((candidate) => (
            <option key={candidate.value} value={candidate.value} label={candidate.label} />
          ))}
        </datalist>
      )}
    </>
  )
}
