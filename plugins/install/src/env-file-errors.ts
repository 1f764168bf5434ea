import { PlinthError } from '@plinth/kernel'

/** Every refusal of the `.env` writer: what happened and what to do. None of them holds a value. */
const table = {
  'env-key-invalid': {
    text: '"{key}" cannot be the name of a variable.',
    fix: 'Use letters, digits and "_", and no digit first.',
  },
  'env-key-not-allowed': {
    text: 'The example file does not list {key}, so it is not written.',
    fix: 'Add {key} to .env.example, or set it somewhere else.',
  },
  'env-value-unrepresentable': {
    text: 'The value of {key} cannot be written so that it is read back unchanged.',
    fix: 'Choose a value without this mixture of quotes \' " `, $, backslashes, line breaks and control characters.',
  },
  'env-file-malformed': {
    text: '{file} cannot be changed safely: {place}.',
    fix: 'Correct it by hand: UTF-8, one NAME=value per line, no spaces around "=", every quote closed.',
  },
  'env-changed-concurrently': {
    text: '{file} is being changed by somebody else.',
    fix: 'Look at what it holds now and try again.',
  },
  'env-not-writable': {
    text: '{file} cannot be written: {reason}.',
    fix: 'Let the user that runs the product write the file and its directory, and see that there is free space.',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type EnvFileErrorCode = keyof typeof table

/** A refusal of the `.env` writer; nothing has been changed. */
export class EnvFileError extends PlinthError {
  override readonly name = 'EnvFileError'
  declare readonly code: EnvFileErrorCode
  /** Fill the placeholders of a translated text. Never values. */
  readonly params: Readonly<Record<string, string>>

  constructor(code: EnvFileErrorCode, params: Readonly<Record<string, string>>, cause?: unknown) {
    const fill = (text: string) => text.replace(/\{(\w+)\}/g, (whole, name: string) => params[name] ?? whole)
    super(code, fill(table[code].text), fill(table[code].fix), cause === undefined ? {} : { cause })
    this.params = params
  }
}
