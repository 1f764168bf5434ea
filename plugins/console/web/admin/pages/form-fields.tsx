import { useId } from 'react'
import { useSpeech } from '../../app/app.tsx'
import { Notice } from '../../app/notice.tsx'
import type { Field, Form } from '../api/page-types.ts'
import { FieldInput } from './field-input.tsx'
import classes from './form-fields.module.css'
import type { FormState } from './form-state.ts'

interface FormFieldsProps extends Pick<Form, 'secret' | 'long'> {
  readonly fields: readonly Field[]
  readonly state: FormState
}

/** The fields of a form, above them what belongs to none of them. */
export function FormFields({ fields, state, secret = [], long = [] }: FormFieldsProps) {
  const { say } = useSpeech()
  const id = useId()
  const { failure } = state
  return (
    <div className={classes.fields}>
      {failure !== undefined && (
        <Notice tone="bad" title={say(failure.kind === 'conflict' ? 'admin.conflict' : 'app.failure.title')}>
          <p>{failure.message === '' ? say('app.failure.unreachable') : failure.message}</p>
          {failure.traceId !== '' && (
            <p className={classes.trace}>{say('app.failure.trace', { traceId: failure.traceId })}</p>
          )}
        </Notice>
      )}
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          id={`${id}-${field.name}`}
          field={field}
          value={state.values[field.name] ?? ''}
          error={state.errors[field.name]}
          isSecret={secret.includes(field.name) || /password|secret|token/i.test(field.name)}
          isLong={long.includes(field.name)}
          kind={field.options?.labels}
          onChange={(value) => state.change(field.name, value)}
        />
      ))}
    </div>
  )
}
