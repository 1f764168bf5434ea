import { InputDescription, InputError, NativeSelect, PasswordInput, Switch, TextInput } from '@mantine/core'
import { useId } from 'react'
import { known } from '../app/answer.ts'
import { useSpeech } from '../app/app.tsx'
import classes from './schema-field.module.css'

interface ChoiceCardsProps {
  readonly id: string
  readonly label: string
  readonly description: string
  readonly candidates: readonly { readonly value: string; readonly label: string }[]
  readonly value: string
  readonly error: string | undefined
  onChange(value: string): void
}

/** A few choices next to each other: radio buttons in the form of cards. */
function ChoiceCards({ id, label, description, candidates, value, error, onChange }: ChoiceCardsProps) {
  const chosen = candidates.some((candidate) => candidate.value === value) ? value : candidates[0]?.value
  return (
    <fieldset className={classes.choices} aria-describedby={`${id}-description`}>
      <legend className={classes.label}>{label}</legend>
      <div className={classes.cards}>
        {candidates.map((candidate) => (
          <label key={candidate.value} className={classes.card}>
            <input
              type="radio"
              name={id}
              // The one in the Tab order.
              id={candidate.value === chosen ? id : undefined}
              className={classes.radio}
              checked={candidate.value === value}
              onChange={() => onChange(candidate.value)}
            />
            <span>{candidate.label}</span>
          </label>
        ))}
      </div>
      {error !== undefined && <InputError className={classes.note}>{error}</InputError>}
      <InputDescription id={`${id}-description`} className={classes.note}>
        {description}
      </InputDescription>
    </fieldset>
  )
}

/** Single-line inputs that differ only for the browser. A newer server may send others. */
const textTypes = ['text', 'email', 'tel', 'url'] as const

/** Display of a field, independent of its key or schema. */
interface FieldLook {
  readonly label: string
  readonly description: string
  readonly isRequired: boolean
  /** Kind of control; an unknown kind is a text field. */
  readonly input: string
  readonly candidates: readonly { readonly value: string; readonly label: string }[]
  readonly placeholder?: string | undefined
  readonly autocomplete?: string | undefined
}

interface Beside {
  readonly label?: undefined
  readonly description?: undefined
  readonly 'aria-label': string
  readonly 'aria-describedby': string | undefined
}

interface SchemaFieldProps extends FieldLook {
  /** Element that takes the focus when the field must be corrected. */
  readonly id: string
  readonly value: string | boolean
  readonly error: string | undefined
  /** If label and description are outside of the field: their element ids. */
  readonly beside?: Beside
  onChange(value: string | boolean): void
  onLeave(): void
}

/** Maximum number of choices that are all visible. */
const shownChoices = 4

/** A field for a value, by its schema. */
export function SchemaField({ id, input, value, error, beside, onChange, onLeave, ...look }: SchemaFieldProps) {
  const { translate } = useSpeech()
  const listId = useId()
  const { label, description, isRequired, candidates, placeholder, autocomplete } = look
  if (input === 'switch') {
    return (
      <Switch
        id={id}
        label={label}
        description={description}
        {...beside}
        error={error}
        classNames={{ track: classes.track }}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    )
  }
  const text = String(value)
  if (input === 'select' && candidates.length <= shownChoices && !beside) {
    return <ChoiceCards {...{ id, label, description, candidates, error, onChange }} value={text} />
  }
  const shared = {
    id,
    label,
    description,
    error,
    value: text,
    placeholder,
    onBlur: onLeave,
    ...beside,
    classNames: { error: classes.error },
    withAsterisk: isRequired,
    'aria-required': isRequired,
    // Not every field of the library sets it.
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
        visibilityToggleButtonProps={{ 'aria-label': translate('field.reveal', { label }), tabIndex: 0 }}
      />
    )
  }
  return (
    <>
      <TextInput
        {...shared}
        type={known(textTypes, input, 'text')}
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
