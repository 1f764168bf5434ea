import { errorTable, fillText, PlinthError } from '@plinth/kernel'

/** Every refusal of the `.env` writer: what happened and what to do. None of them holds a value. */
const { table } = errorTable({
  'env-key-invalid': `"{{key}}" cannot be the name of a variable.
    Use letters, digits and "_", and no digit first.`,
  'env-key-not-allowed': `The example file does not list {{key}}, so it is not written.
    Add {{key}} to .env.example, or set it somewhere else.`,
  'env-value-unrepresentable': `The value of {{key}} cannot be written so that it is read back unchanged.
    Choose a value without this mixture of quotes ' " \`, $, backslashes, line breaks and control characters.`,
  'env-file-malformed': `{{file}} cannot be changed safely: the product cannot read line {{line}}.
    Correct the line; \`plinth doctor\` says what is wrong with it.`,
  'env-changed-concurrently': `{{file}} is being changed by somebody else.
    Look at what it holds now and try again.`,
  'env-not-writable': `{{file}} cannot be written: {{reason}}.
    Let the user that runs the product write the file and its directory, and see that there is free space.`,
})

export type EnvFileErrorCode = keyof typeof table

/** A refusal of the `.env` writer; nothing has been changed. */
export class EnvFileError extends PlinthError {
  override readonly name = 'EnvFileError'
  declare readonly code: EnvFileErrorCode
  /** Fill the placeholders of a translated text. Never values. */
  readonly params: Readonly<Record<string, string>>

  constructor(code: EnvFileErrorCode, params: Readonly<Record<string, string>>, cause?: unknown) {
    super(code, fillText(table[code].text, params), fillText(table[code].fix, params), { cause })
    this.params = params
  }
}
