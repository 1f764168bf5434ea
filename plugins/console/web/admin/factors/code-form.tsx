import { Button, TextInput } from '@mantine/core'
import { type FormEvent, useRef, useState } from 'react'
import { useWrite } from '../api/use-write.ts'
import { CallError } from '../pages/call-error.tsx'
import classes from './factors.module.css'

/** How the field of each code behaves. A code of an authenticator app has 6 digits, a recovery code 24 characters. */
const fields = {
  totp: { inputMode: 'numeric', autoComplete: 'one-time-code', maxLength: 12 },
  recovery: { inputMode: 'text', autoComplete: 'off', maxLength: 60 },
} as const

interface CodeFormProps<Result> {
  readonly kind: keyof typeof fields
  readonly label: string
  readonly description?: string
  readonly submit: string
  /** Title of a failure. */
  readonly failed: string
  send(code: string, signal: AbortSignal): Promise<Result>
  onDone(result: Result): void
}

/** A field for a code, with its error. A wrong code is removed from the field, because it never becomes right. */
export function CodeForm<Result>({ kind, label, description, submit, failed, send, onDone }: CodeFormProps<Result>) {
  const [code, setCode] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const step = useWrite((signal, typed: string) => send(typed, signal), {
    onSuccess: onDone,
    onError: () => field.current?.focus(),
    onSettled: () => setCode(''),
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (code.trim() !== '') step.mutate(code.trim())
  }
  return (
    <form onSubmit={onSubmit} className={classes.step}>
      <CallError title={failed} error={step.error} />
      <TextInput
        {...fields[kind]}
        ref={field}
        label={label}
        description={description}
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
        autoCapitalize="none"
        autoCorrect="off"
        spellCheck={false}
        data-autofocus
        required
      />
      <Button type="submit" loading={step.isPending} fullWidth>
        {submit}
      </Button>
    </form>
  )
}
