import { Button } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { Component, type ReactNode } from 'react'
import { useSpeech } from './app.tsx'
import { FailureNotice, Notice } from './notice.tsx'

interface BoundaryProps {
  readonly children: ReactNode
  /** Another value of it tries the part again: the address of a page, whether a dialog is open. */
  readonly resetKey?: unknown
  /** Puts the notice in its place; the notice itself when absent. */
  place?(notice: ReactNode): ReactNode
}

interface BoundaryState {
  readonly error?: unknown
}

/** An error in a part of the page, or a script of it that does not load, ends that part alone. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = {}

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error: error ?? new Error('unknown') }
  }

  override componentDidUpdate(last: BoundaryProps): void {
    if (this.state.error !== undefined && last.resetKey !== this.props.resetKey) this.setState({ error: undefined })
  }

  override render() {
    const { children, place = (notice: ReactNode) => notice } = this.props
    const { error } = this.state
    if (error === undefined) return children
    return place(
      isScriptFailure(error) ? <NotLoaded /> : <Broken onRetry={() => this.setState({ error: undefined })} />,
    )
  }
}

/** Texts of Chromium, Firefox and Safari, and of the helper of the bundler. */
const isScriptFailure = (error: unknown) =>
  error instanceof Error &&
  /dynamically imported module|module script failed|Unable to preload CSS/i.test(error.message)

/** A browser does not ask for a script again within one page, and after an upgrade the server may not have it any more. */
function NotLoaded() {
  const { say } = useSpeech()
  return (
    <Notice tone="bad" title={say('app.part.not-loaded')}>
      <p>{say('app.part.others-work')}</p>
      <Button
        variant="default"
        size="sm"
        mt="sm"
        leftSection={<IconRefresh size={16} aria-hidden />}
        onClick={() => location.reload()}
      >
        {say('app.part.reload')}
      </Button>
    </Notice>
  )
}

function Broken({ onRetry }: { onRetry(): void }) {
  const { say } = useSpeech()
  return <FailureNotice message={say('app.part.broken')} traceId="" onRetry={onRetry} />
}
