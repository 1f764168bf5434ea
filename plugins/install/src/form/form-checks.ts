import type { Check, FieldView, Outcome } from '../contract.ts'
import { type Sentence, sayIn } from '../texts.ts'
import { type FieldProblem, failedRule, formatRule, plainTextRule, type RuleContext } from './field-rules.ts'
import { allFields, type FormField, isApplicable } from './fields.ts'
import { entryOf, hintsOf, labelOf } from './form-schema.ts'
import { type FormValues, isSecretField, textOf } from './form-values.ts'

export const sentence = Symbol('sentence')

/** A check with its untranslated message. Responses do not contain the message, because JSON has no symbols. */
export interface SentenceCheck extends Check {
  readonly [sentence]: Sentence
}

/** Checks the content of the form. Reads configuration, but opens no connection and writes nothing. */
export function checkForm(form: FormValues, context: RuleContext): readonly SentenceCheck[] {
  const requested = allFields.filter((field) => field.type !== 'boolean' && isApplicable(field, form))
  return requested.map((field) => {
    const finding = judge(field, form, context) ?? { status: 'passed', text: 'passed' }
    return checkOf(field, finding, context)
  })
}

/**
 * Returns the most important problem of a field: a failure before a warning, and a general rule before a rule of the
 * field.
 */
function judge(field: FormField, form: FormValues, context: RuleContext) {
  const { path, rule, required, mayBeEmpty, type } = field
  const text = textOf(form, path)
  if (required && text === '' && !mayBeEmpty?.(form)) return failedRule('required')
  const own = rule?.(text, form, context)
  if (own?.status === 'failed') return own
  const entry = entryOf(field, context.configAdmin)
  const hints = hintsOf(field, entry)
  const format = entry?.format
  const general = type === 'integer' ? range(text, hints) : line(path, text, hints)
  return (format === undefined ? undefined : formatRule(format)(text)) ?? general ?? own
}

function range(
  text: string,
  { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: FieldView['hints'],
): FieldProblem | undefined {
  const isWithin = text === '' || (Number(text) >= minimum && Number(text) <= maximum)
  return isWithin ? undefined : failedRule('out-of-range', { minimum, maximum })
}

function line(path: string, text: string, { maxLength: limit }: FieldView['hints']): FieldProblem | undefined {
  if (isSecretField(path)) return undefined
  if (limit !== undefined && [...text].length > limit) return failedRule('too-long', { limit })
  return plainTextRule(text)
}

export function checkOf(
  field: FormField,
  { status, text, params = {} }: FieldProblem,
  { configAdmin, locale, translate }: Pick<RuleContext, 'configAdmin' | 'locale' | 'translate'>,
): SentenceCheck {
  const { path, group } = field
  const message = { text: `check.${text}`, params: { field: labelOf(field, entryOf(field, configAdmin)), ...params } }
  return {
    code: path,
    finding: text,
    group,
    field: path,
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
