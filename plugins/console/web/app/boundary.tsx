import { Component, type ReactNode, Suspense } from 'react'
import { useLanguage } from './app.tsx'
import { FailureNotice, Notice, RetryButton } from './notice.tsx'

interface BoundaryProps {
  readonly children: ReactNode
  /** Shown while a script of the part is loading. */
  readonly waiting?: ReactNode
  /** If this value changes, the part is rendered again. It is the address of a page, or whether a dialog is open. */
  readonly resetKey?: unknown
  /** Wraps the error notice in other elements. If omitted, only the notice is rendered. */
  place?(notice: ReactNode): ReactNode
}

interface BoundaryState {
  readonly error?: unknown
}

/** Error boundary. An error in a part of the page, or in loading its script, replaces only that part. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = {}

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error: error ?? new Error('unknown') }
  }

  override componentDidUpdate(last: BoundaryProps): void {
    if (this.state.error !== undefined && last.resetKey !== this.props.resetKey) this.setState({ error: undefined })
  }

  override render() {
    const { children, waiting = null, place = (notice: ReactNode) => notice } = this.props
    const { error } = this.state
    if (error === undefined) return <Suspense fallback={waiting}>{children}</Suspense>
    return place(
      isScriptFailure(error) ? <NotLoaded /> : <Broken onRetry={() => this.setState({ error: undefined })} />,
    )
  }
}

/**
 * True if the error means that a script could not be loaded. The texts are those of Chromium, Firefox, Safari and the
 * bundler.
 */
const isScriptFailure = (error: unknown) =>
  error instanceof Error &&
  /dynamically imported module|module script failed|Unable to preload CSS/i.test(error.message)

/**
 * Notice that a script could not be loaded. A browser does not request a failed script again until the page reloads,
 * and after an upgrade the server may no longer have the script.
 */
function NotLoaded() {
  const { translate } = useLanguage()
  return (
    <Notice tone="bad" title={translate('app.part.not-loaded')}>
      <p>{translate('app.part.others-work')}</p>
      <RetryButton label={translate('app.part.reload')} onClick={() => location.reload()} />
    </Notice>
  )
}

function Broken({ onRetry }: { onRetry(): void }) {
  const { translate } = useLanguage()
  return <FailureNotice message={translate('app.part.broken')} traceId="" onRetry={onRetry} />
}
