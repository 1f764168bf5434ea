import { InputDescription, InputError, NativeSelect, PasswordInput, Switch, TextInput } from '@mantine/core'
import { useId } from 'react'
import { knownValueOr } from '../app/answer.ts'
import { useLanguage } from '../app/app.tsx'
import classes from './schema-field.module.css'

interface ChoiceCardsProps {
  readonly id: string
  readonly label: string
  readonly description: string
  readonly candidates: readonly { readonly value: string; readonly label: string }[]
  readonly value: string
  readonly error: string | undefined
  readonly isFixed: boolean
  onChange(value: string): void
}

/** Shows a few choices next to each other, as radio buttons that look like cards. */
function ChoiceCards({ id, label, description, candidates, value, error, isFixed, onChange }: ChoiceCardsProps) {
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
              // Only the chosen radio button is in the Tab order, so the label refers to it.
              id={candidate.value === chosen ? id : undefined}
              className={classes.radio}
              checked={candidate.value === value}
              disabled={isFixed}
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

/**
 * Kinds of single-line inputs. They differ only in how the browser treats them. A newer server may send other kinds.
 */
const textTypes = ['text', 'email', 'tel', 'url'] as const

/** Appearance of a field. It does not depend on the key or schema. */
interface FieldLook {
  readonly label: string
  readonly description: string
  readonly isRequired: boolean
  /** True if the user cannot change the value. */
  readonly isFixed?: boolean
  /** Kind of control. An unknown kind is shown as a text field. */
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
  /** Id of the element that takes the focus when the user must correct the field. */
  readonly id: string
  readonly value: string | boolean
  readonly error: string | undefined
  /** Ids of the elements that contain label and description, if these are outside of the field. */
  readonly beside?: Beside
  onChange(value: string | boolean): void
  onLeave(): void
}

/** Maximum number of choices that are shown at the same time. More choices become a select field. */
const shownChoices = 4

/** Shows the field for a value. The kind of input determines the control. */
export function SchemaField({ id, input, value, error, beside, onChange, onLeave, ...look }: SchemaFieldProps) {
  const { translate } = useLanguage()
  const listId = useId()
  const { label, description, isRequired, isFixed = false, candidates, placeholder, autocomplete } = look
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
        disabled={isFixed}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    )
  }
  const text = String(value)
  if (input === 'select' && candidates.length <= shownChoices && !beside) {
    return <ChoiceCards {...{ id, label, description, candidates, error, isFixed, onChange }} value={text} />
  }
  const shared = {
    id,
    label,
    description,
    error,
    value: text,
    disabled: isFixed,
    placeholder,
    onBlur: onLeave,
    ...beside,
    classNames: { error: classes.error },
    withAsterisk: isRequired,
    'aria-required': isRequired,
    // This attribute is set here, because some fields of the library do not set it.
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
        type={knownValueOr(textTypes, input, 'text')}
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
