import { InputDescription, InputError } from '@mantine/core'
import classes from './choice-cards.module.css'

interface ChoiceCardsProps {
  readonly id: string
  readonly label: string
  readonly description: string
  readonly candidates: readonly { readonly value: string; readonly label: string }[]
  readonly value: string
  readonly error: string | undefined
  onChange(value: string): void
}

/** A few choices side by side: radio buttons that look like cards. */
export function ChoiceCards({ id, label, description, candidates, value, error, onChange }: ChoiceCardsProps) {
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
              // The one that the keyboard reaches.
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
