// Search from files: browsers start no worker where the page was opened from disk, so it runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.onmessage = this.onerror = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.inside = this.frame.contentWindow;
      // Copies, as between real workers: what is sent must not change when the sender goes on with it.
      this.inside.postMessage = (sent) => {
        const data = structuredClone(sent);
        setTimeout(() => this.onmessage?.({ data }));
      };
      const script = this.frame.contentDocument.createElement("script");
      script.src = new URL(address, location.href);
      script.onload = () => {
        this.isReady = true;
        this.waiting.splice(0).forEach((data) => this.deliver(data));
      };
      script.onerror = (event) => this.onerror?.(event);
      this.frame.contentDocument.body.append(script);
    }

    postMessage(sent) {
      const data = this.inside.structuredClone(sent);
      if (this.isReady) this.deliver(data);
      else this.waiting.push(data);
    }

    deliver(data) {
      setTimeout(() => this.inside?.onmessage({ data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
