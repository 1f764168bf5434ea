import { type CommandScope, kernelError } from '@plinth/kernel/program'
import type { Command } from 'commander'

/** The words that may follow a command. For example, `get`, `list` and `--json` may follow `config`. */
interface Completions {
  readonly path: string
  readonly words: readonly { readonly word: string; readonly summary: string }[]
}

function completionsOf(command: Command, path = '', inherited: readonly string[] = []): readonly Completions[] {
  const flags = [...inherited, ...command.options.flatMap(({ long }) => long ?? [])]
  const commands = command.commands.map((child) => ({ word: child.name(), summary: child.summary() }))
  const words = [...commands, ...flags.map((word) => ({ word, summary: '' }))]
  const below = command.commands.flatMap((child) => completionsOf(child, `${path} ${child.name()}`.trim(), flags))
  return [{ path, words }, ...below]
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
const listed = ({ words }: Completions) => words.map(({ word }) => word).join(' ')

/**
 * The completion script for each shell. The scripts look up the words before the cursor, without options, among the
 * paths of `Completions`.
 */
const scripts: Readonly<Record<string, (all: readonly Completions[]) => string>> = {
  bash: (all) => `_plinth() {
  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  local words=""
  case "$path" in
${all.map((one) => `    ${quoted(one.path)}) words=${quoted(listed(one))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _plinth plinth`,
  zsh: (all) => `#compdef plinth
_plinth() {
  local joined="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$word" in -*) ;; *) joined="\${joined:+$joined }$word" ;; esac
  done
  local -a found
  case "$joined" in
${all.map((one) => `    ${quoted(one.path)}) found=(${one.words.map(described).join(' ')}) ;;`).join('\n')}
  esac
  _describe plinth found || _files
}
compdef _plinth plinth`,
  fish: (all) =>
    `function __plinth_path
  set -l tokens (commandline -opc)
  string join ' ' -- (string match -v -- '-*' $tokens[2..-1])
end
${all
  .flatMap(({ path, words }) =>
    words.map(({ word, summary }) => {
      const kind = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${quoted(word)}`
      const text = summary === '' ? '' : ` -d ${quoted(summary)}`
      return `complete -c plinth -n 'test (__plinth_path) = "${path}"' ${kind}${text}`
    }),
  )
  .join('\n')}`,
}

const described = ({ word, summary }: Completions['words'][number]) =>
  quoted(summary === '' ? word : `${word}:${summary}`)

export function addCompletionCommand(program: Command, scope: CommandScope): void {
  program
    .command('completion')
    .summary('print the completion script of a shell')
    .description(
      'Prints the completion of all commands of this product. bash: source <(plinth completion bash). zsh: source <(plinth completion zsh). fish: plinth completion fish | source',
    )
    .argument('<shell>', Object.keys(scripts).join(', '))
    .action((shell: string) => {
      const script = scripts[shell]
      if (script === undefined) {
        const reason = `"${shell}" is not one of ${Object.keys(scripts).join(', ')}.`
        throw kernelError('PLINTH_CLI_USAGE', { reason, command: 'plinth completion' })
      }
      const text = script(completionsOf(program))
      scope.output.result({ shell, script: text }, text)
    })
}
