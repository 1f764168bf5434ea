import type { Check, Outcome } from '../contract.ts'
import { type Sentence, sayIn, type Translate } from '../texts.ts'
import { type FieldProblem, failedRule, plainTextRule, type RuleContext } from './field-rules.ts'
import { allFields } from './fields.ts'
import { type FormValues, isSecretField, textOf } from './form-values.ts'

type Field = (typeof allFields)[number]

export const sentence = Symbol('sentence')

/** A check with its untranslated message. Responses do not contain the message, because JSON has no symbols. */
export interface SentenceCheck extends Check {
  readonly [sentence]: Sentence
}

/** Checks the content of the form. Reads configuration, but opens no connection and writes nothing. */
export function checkForm(form: FormValues, context: RuleContext): readonly SentenceCheck[] {
  const requested = allFields.filter(({ type, rule, counts }) => {
    return (type !== 'boolean' || rule !== undefined) && counts?.(form) !== false
  })
  return requested.map((field) => {
    const finding = judge(field, form, context) ?? { status: 'passed', text: 'passed' }
    return checkOf(field.path, finding, context.locale, context.translate)
  })
}

/**
 * Returns the most important problem of a field: a failure before a warning, and a general rule before a rule of the
 * field.
 */
function judge({ path, rule, required, mayBeEmpty, type, hints }: Field, form: FormValues, context: RuleContext) {
  const text = textOf(form, path)
  if (required && text === '' && !mayBeEmpty?.(form)) return failedRule('required')
  const own = rule?.(text, form, context)
  if (own?.status === 'failed') return own
  return (type === 'integer' ? range(text, hints) : line(path, text, hints)) ?? own
}

function range(
  text: string,
  { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Field['hints'],
): FieldProblem | undefined {
  const isWithin = text === '' || (Number(text) >= minimum && Number(text) <= maximum)
  return isWithin ? undefined : failedRule('out-of-range', { minimum, maximum })
}

function line(path: string, text: string, { maxLength: limit }: Field['hints']): FieldProblem | undefined {
  if (isSecretField(path)) return undefined
  if (limit !== undefined && [...text].length > limit) return failedRule('too-long', { limit })
  return plainTextRule(text)
}

export function checkOf(
  field: string,
  { status, text, params = {} }: FieldProblem,
  locale: string,
  translate: Translate,
): SentenceCheck {
  const [group = ''] = field.split('.')
  const message = { text: `check.${text}`, params: { field: { text: `field.${field}.label` }, ...params } }
  return {
    code: field,
    finding: text,
    group,
    field,
    status,
    message: sayIn(translate, locale, message),
    fix: '',
    [sentence]: message,
  }
}

/** Returns true if no check failed. Warnings are allowed (decision D34). */
export const hasPassed = (checks: readonly Pick<Check, 'status'>[]) => checks.every(({ status }) => status !== 'failed')

/** Returns the worst status of all checks. */
export function outcomeOfChecks(checks: readonly Check[]): Outcome {
  if (!hasPassed(checks)) return 'failed'
  return checks.some(({ status }) => status === 'warning') ? 'warning' : 'passed'
}
